// What the trial runs as its jobs: a program that leaves marks of its own life. It appends a line to a file when it
// begins ("born"), when it has its slice ("start": after CUDA is initialised, where it does that), and when it ends
// ("end" with its code, or "saved" on USR1). Instants are microseconds of CLOCK_BOOTTIME, which no step of the host's
// clock moves and by which /proc tells when a process began.
//
//   trial_job MARKS NAME ROLE SECONDS
//     ok, fail (ends with 7), stubborn (ignores TERM), fork (leaves processes behind, one in a session of its own),
//     checkpoint (saves and ends on USR1)
// TRIAL_CUDA names a CUDA library that is initialised first: the job may be started before its slice is free.
//   lines: WHAT NAME TASK ATTEMPT JOB PID MICROSECONDS DEVICE CODE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

volatile sig_atomic_t save = 0;

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : "-";
}

void mark(int file, const char* name, const char* what, int code) {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  char line[600];
  const int length = std::snprintf(
      line, sizeof line, "%s %s %s %s %s %d %lld %s %d\n", what, name, variable("SLURM_ARRAY_TASK_ID"),
      variable("SMARTMIG_ATTEMPT"), variable("SMARTMIG_JOB_ID"), int(::getpid()),
      static_cast<long long>(now.tv_sec) * 1000000 + now.tv_nsec / 1000, variable("CUDA_VISIBLE_DEVICES"), code);
  if (::write(file, line, std::size_t(length)) != length) ::_exit(99);
}

void leave_behind(bool own_session) {
  if (::fork() != 0) return;
  if (own_session) ::setsid();
  ::signal(SIGTERM, SIG_IGN);
  for (;;) ::sleep(600);
}

bool initialise(const char* library) {
  void* const cuda = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  auto* const begin = cuda ? reinterpret_cast<int (*)(unsigned)>(::dlsym(cuda, "cuInit")) : nullptr;
  return begin && begin(0) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 98;
  const char* const name = argv[2];
  const std::string_view role = argv[3];
  const double seconds = std::atof(argv[4]);
  const int file = ::open(argv[1], O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return 97;
  if (role == "stubborn") ::signal(SIGTERM, SIG_IGN);
  if (role == "checkpoint") {
    struct sigaction action {};
    action.sa_handler = [](int) { save = 1; };
    ::sigaction(SIGUSR1, &action, nullptr);
  }
  mark(file, name, "born", 0);
  if (const char* library = std::getenv("TRIAL_CUDA"); library && !initialise(library)) {
    mark(file, name, "no-cuda", 95);
    return 95;
  }
  mark(file, name, "start", 0);
  if (role == "fork") {
    leave_behind(false);
    leave_behind(true);
  }
  timespec left{time_t(seconds), long((seconds - double(time_t(seconds))) * 1e9)};
  while (!save && ::nanosleep(&left, &left) != 0) {
  }
  const int code = role == "fail" && !save ? 7 : 0;
  mark(file, name, save ? "saved" : "end", code);
  return code;
}
