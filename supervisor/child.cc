#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim_api.h"
#include "supervisor.h"

extern char** environ;

namespace smartmig::supervisor {
namespace {

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4u
#endif

int news_fd = -1;

[[noreturn]] __attribute__((format(printf, 1, 2))) void give_up(const char* format, ...) {
  ChildNews news;
  va_list list;
  va_start(list, format);
  ::vsnprintf(news.words, sizeof news.words, format, list);
  va_end(list);
  [[maybe_unused]] const auto told = ::write(news_fd, &news, sizeof news);
  ::_exit(127);
}

// Any command counts as busy on its emulated slice. The registration is by pid and start time, so exec keeps it; it is
// made with the supervisor's rights, as the machine's file may not be the user's to write.
void register_on_slice(const Job& job) {
  const LaunchHead& head = *job.head;
  static char state[4200];
  ::snprintf(state, sizeof state, "NVML_SIM_STATE=%s", job.text(head.sim_state));
  static char* machine[] = {state, nullptr};
  environ = machine;
  void* const library = ::dlopen(job.text(head.sim_library), RTLD_NOW | RTLD_LOCAL);
  if (!library) give_up("cannot open the emulated driver: %s", ::dlerror());
  const auto init = reinterpret_cast<decltype(&nvmlInit_v2)>(::dlsym(library, "nvmlInit_v2"));
  const auto enrol = reinterpret_cast<decltype(&nvmlSimRegisterProcess)>(::dlsym(library, "nvmlSimRegisterProcess"));
  const auto words = reinterpret_cast<decltype(&nvmlErrorString)>(::dlsym(library, "nvmlErrorString"));
  if (!init || !enrol || !words) give_up("%s is no emulated driver", job.text(head.sim_library));
  nvmlReturn_t status = init();
  if (status == NVML_SUCCESS) status = enrol(job.text(head.device), job.text(head.kind));
  if (status != NVML_SUCCESS) give_up("cannot take the emulated slice %s: %s", job.text(head.device), words(status));
}

void become_user(const Job& job) {
  const LaunchHead& head = *job.head;
  if (!head.change_user) return;
  const auto* groups = reinterpret_cast<const gid_t*>(job.block + head.groups.at);
  if (::setgroups(head.groups.count, groups) != 0 || ::setresgid(head.gid, head.gid, head.gid) != 0 ||
      ::setresuid(head.uid, head.uid, head.uid) != 0)
    give_up("cannot become user %u: %s", head.uid, ::strerror(errno));
  uid_t real = 0, effective = 0, saved = 0;
  ::getresuid(&real, &effective, &saved);
  if (real != head.uid || effective != head.uid || saved != head.uid || (head.uid != 0 && ::setuid(0) == 0))
    give_up("cannot become user %u for good", head.uid);
}

// `which`: 'o' of its output, 'e' of standard error alone.
void hand_over_output(const Job& job, int socket, const char* path, char which) {
  if (!*path) return;
  const int how = job.head->append_output ? O_APPEND : O_TRUNC | O_APPEND;
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | how, 0666);
  if (fd < 0) give_up("cannot write the output file %s: %s", path, ::strerror(errno));
  char control[CMSG_SPACE(sizeof(int))] = {};
  iovec data{&which, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  ::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) != 1) give_up("cannot hand over %s: %s", path, ::strerror(errno));
  ::close(fd);
}

// The script lies in memory, readable by its user alone and changeable by nobody.
void open_script(const Job& job) {
  const int fd = int(::syscall(SYS_memfd_create, "script", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd < 0) give_up("no memory for the script: %s", ::strerror(errno));
  const char* data = job.text(job.head->script);
  for (std::uint64_t left = job.head->script_bytes; left > 0;) {
    const ssize_t n = ::write(fd, data, left);
    if (n <= 0) give_up("no memory for the script: %s", ::strerror(errno));
    data += n;
    left -= std::uint64_t(n);
  }
  ::fchmod(fd, 0500);
  ::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  if (fd != kScriptFd && ::dup2(fd, kScriptFd) < 0) give_up("no descriptor for the script: %s", ::strerror(errno));
  ::fcntl(kScriptFd, F_SETFD, 0);
}

void close_on_exec_from(unsigned first) {
  if (::syscall(SYS_close_range, first, ~0u, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (int fd = int(first), most = int(::sysconf(_SC_OPEN_MAX)); fd < most; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace

void become_job(const Job& job, const ChildPipes& pipes) {
  // The low descriptors belong to the job from here on.
  news_fd = ::fcntl(pipes.news, F_DUPFD_CLOEXEC, 10);
  const int handover = ::fcntl(pipes.handover, F_DUPFD_CLOEXEC, 10);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || ::dup2(nothing, 0) < 0 || ::dup2(pipes.output, 1) < 0 || ::dup2(pipes.errors, 2) < 0)
    give_up("no descriptors: %s", ::strerror(errno));
  ::setsid();
  write_text("/proc/self/oom_score_adj", pipes.oom_score);
  enter_groups(job);
  if (job.head->sim_library) register_on_slice(job);

  ::umask(022);
  become_user(job);
  // From here on with the user's rights; paths that the user named are met only now.
  if (!job.head->new_privileges) ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // By the kernel's own call: the C library keeps two signals to itself, and posix_spawn leaves them ignored.
  const unsigned long default_action[8] = {};
  for (int number = 1; number <= 64; ++number) ::syscall(SYS_rt_sigaction, number, default_action, nullptr, 8);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != pipes.supervisor) give_up("its supervisor was killed");
  environ = job.environment;
  const char* const directory = job.text(job.head->directory);
  if (*directory && ::chdir(directory) != 0) give_up("cannot enter the directory %s: %s", directory, ::strerror(errno));
  hand_over_output(job, handover, job.text(job.head->output), 'o');
  hand_over_output(job, handover, job.text(job.head->error), 'e');
  close_on_exec_from(3);
  if (job.head->script_bytes > 0) open_script(job);
  ChildNews ready;
  ready.ready = 1;
  [[maybe_unused]] const auto told = ::write(news_fd, &ready, sizeof ready);
  ::execvpe(job.arguments[0], job.arguments, job.environment);
  // A directory of the PATH that is closed to the user makes "permission denied" out of a name that is nowhere.
  if (!::strchr(job.arguments[0], '/') && (errno == ENOENT || errno == EACCES))
    give_up("the program %s is not in its PATH, or may not be run", job.arguments[0]);
  give_up("cannot run %s: %s", job.arguments[0], ::strerror(errno));
}

}  // namespace smartmig::supervisor
