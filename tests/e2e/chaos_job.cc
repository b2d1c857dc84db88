// What the chaos test runs as its jobs: a small program that leaves evidence. It appends one line when an attempt
// begins and one when it ends to a file of its job, and holds two locks for as long as anything of it lives, children
// included: one of its job, one of its slice. Who finds a lock taken writes that down: two attempts of a job, or two
// jobs on a slice, were there at once.
//
//   chaos_job DIR ROLE SECONDS [PROGRAM ARGUMENTS...]
//     ok         ends with 0 after SECONDS
//     fail       ends with 7
//     stubborn   as ok, and ignores TERM
//     fork       as ok, and leaves children behind: in its group, and in a session of their own
//     checkpoint as ok; on USR1 it writes a line "saved" and ends with 0
//     run        PROGRAM as a child; ends as that does
// With CHAOS_CUDA, a library, it initialises CUDA through that first, as a program that may be started before its slice
// is free: it holds its job's lock while it waits for the slice.
//   lines: start|end|saved|overlap|shared ATTEMPT MICROSECONDS SLICE CODE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

volatile sig_atomic_t save = 0;

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : "-";
}

void note(int file, const char* what, int code) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  char line[512];
  const int length = std::snprintf(line, sizeof line, "%s %s %lld %s %d\n", what, variable("SMARTMIG_ATTEMPT"),
                                   static_cast<long long>(now.tv_sec) * 1000000 + now.tv_nsec / 1000,
                                   variable("CUDA_VISIBLE_DEVICES"), code);
  if (::write(file, line, static_cast<std::size_t>(length)) != length) ::_exit(99);
}

// Inherited by children, so it is free only when the last of them is gone.
bool take(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0644);
  return fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0;
}

bool initialise(const char* library) {
  void* const cuda = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  auto* const begin = cuda ? reinterpret_cast<int (*)(unsigned)>(::dlsym(cuda, "cuInit")) : nullptr;
  return begin && begin(0) == 0;
}

void leave_behind(bool own_session) {
  if (::fork() != 0) return;
  if (own_session) ::setsid();
  ::signal(SIGTERM, SIG_IGN);
  for (;;) ::sleep(600);
}

bool pause_for(double seconds) {
  timespec left{time_t(seconds), long((seconds - double(time_t(seconds))) * 1e9)};
  while (::nanosleep(&left, &left) != 0)
    if (save) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 98;
  const std::string directory = argv[1], role = argv[2];
  const double seconds = std::atof(argv[3]);
  const std::string mine = directory + "/job-" + variable("SMARTMIG_JOB_ID");
  const int file = ::open((mine + ".lines").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return 97;
  if (role == "stubborn") ::signal(SIGTERM, SIG_IGN);
  if (role == "checkpoint") {
    struct sigaction action {};
    action.sa_handler = [](int) { save = 1; };
    ::sigaction(SIGUSR1, &action, nullptr);
  }
  if (!take(mine + ".lock")) note(file, "overlap", 0);
  if (const char* library = std::getenv("CHAOS_CUDA"); library && !initialise(library)) return 95;
  // One without CUDA may have begun without a slice.
  const std::string device = variable("CUDA_VISIBLE_DEVICES");
  if (!device.starts_with("MIG-00000000-") && !take(directory + "/slice-" + device + ".lock")) note(file, "shared", 0);
  note(file, "start", 0);
  if (role == "fork") {
    leave_behind(false);
    leave_behind(true);
  }
  int code = role == "fail" ? 7 : 0;
  if (role == "run") {
    const pid_t child = ::fork();
    if (child == 0) {
      ::execv(argv[4], argv + 4);
      ::_exit(96);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
    }
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  } else if (!pause_for(seconds)) {
    note(file, "saved", 0);
    return 0;
  }
  note(file, "end", code);
  return code;
}
