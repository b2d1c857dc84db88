#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

#include "live/jobs/log_capture.h"
#include "supervisor.h"

using namespace smartmig;
using namespace smartmig::supervisor;

namespace {

constexpr std::int64_t kNone = INT64_MAX;
char output_buffer[65536];

[[noreturn]] void refuse(SupervisorReport::What what, const char* doing, int error) {
  SupervisorReport report;
  report.what = what;
  ::snprintf(report.words, sizeof report.words, "%s: %s", doing, ::strerror(error));
  [[maybe_unused]] const auto told = ::write(kReportFd, &report, sizeof report);
  ::_exit(kNeverBegan);
}

char** pointers(const Job& job, const LaunchList& list) {
  auto** const out = static_cast<char**>(::calloc(list.count + 1, sizeof(char*)));
  if (!out) refuse(SupervisorReport::kFailed, "no memory", ENOMEM);
  for (std::uint32_t i = 0; i < list.count; ++i) out[i] = const_cast<char*>(job.item(list, i));
  return out;
}

Job read_block() {
  struct stat entry {};
  if (::fstat(kBlockFd, &entry) != 0 || entry.st_size < off_t(sizeof(LaunchHead)))
    refuse(SupervisorReport::kFailed, "no launch block", EINVAL);
  void* const memory = ::mmap(nullptr, std::size_t(entry.st_size), PROT_READ, MAP_PRIVATE, kBlockFd, 0);
  if (memory == MAP_FAILED) refuse(SupervisorReport::kFailed, "no launch block", errno);
  Job job;
  job.block = static_cast<const char*>(memory);
  job.head = static_cast<const LaunchHead*>(memory);
  if (job.head->magic != kBlockMagic || job.head->version != kBlockVersion ||
      job.head->bytes != std::uint64_t(entry.st_size))
    refuse(SupervisorReport::kFailed, "the daemon is of another version than smartmig-supervisor", EINVAL);
  job.arguments = pointers(job, job.head->arguments);
  job.environment = pointers(job, job.head->environment);
  ::close(kBlockFd);
  return job;
}

class Supervisor {
 public:
  explicit Supervisor(const Job& job) : job_(job), head_(*job.head) {}
  // False: something of the job is alive yet, and will not die.
  bool run() {
    open_channels();
    log_.open(kDirectoryFd, head_.log_segment_bytes, head_.copy_bytes);
    Words troubles;
    make_groups(job_, troubles);
    if (troubles.length > 0) log_.write(troubles.text, troubles.length);
    start_child();
    while (!ended_) wait_for_something();
    return finish();
  }

 private:
  void open_channels() {
    sigset_t heard;
    ::sigemptyset(&heard);
    ::sigaddset(&heard, SIGCHLD);
    ::sigaddset(&heard, kStopSignal);
    signals_ = ::signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0 || ::pipe2(output_, O_CLOEXEC) != 0 || ::pipe2(news_, O_CLOEXEC) != 0 ||
        (head_.error && *job_.text(head_.error) && ::pipe2(errors_, O_CLOEXEC) != 0) ||
        ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, handover_) != 0)
      return lack("no descriptors for it", errno);
    ::fcntl(output_[0], F_SETFL, O_NONBLOCK);
    if (errors_[0] >= 0) ::fcntl(errors_[0], F_SETFL, O_NONBLOCK);
    ::fcntl(news_[0], F_SETFL, O_NONBLOCK);
  }

  // Says nothing of the job, which may run once there is enough.
  void lack(const char* what, int error) {
    ending_.words.add("%s: %s", what, ::strerror(error));
    ending_.short_of_means = true;
  }

  void start_child() {
    ending_.started_us = unix_us();
    ending_.started_steady_us = boot_us();
    ChildPipes pipes{output_[1], errors_[1] >= 0 ? errors_[1] : output_[1], news_[1], handover_[1], ::getpid(), "0"};
    char score[16];
    if (read_text("/proc/self/oom_score_adj", score, sizeof score) > 0) ::memcpy(pipes.oom_score, score, sizeof score);
    write_text("/proc/self/oom_score_adj", "-900");  // refused without rights, and then not needed
    child_ = ending_.words.length > 0 ? -1 : ::fork();
    if (child_ == 0) become_job(job_, pipes);
    if (child_ < 0) {
      if (ending_.words.length == 0) lack("no process for it", errno);
      ending_.never_started = ended_ = true;
    } else if (limit_us_ > 0 && !held_) {
      limit_at_ = monotonic_us() + limit_us_;
    }
    for (int* fd : {&output_[1], &errors_[1], &news_[1], &handover_[1]}) close_fd(*fd);
  }

  void wait_for_something() {
    pollfd polled[] = {{signals_, POLLIN, 0},
                       {output_[0], POLLIN, 0},
                       {news_[0], POLLIN, 0},
                       {handover_[0], POLLIN, 0},
                       {errors_[0], POLLIN, 0}};
    const std::int64_t due = limit_at_ < kill_at_ ? limit_at_ : kill_at_;
    std::int64_t wait_ms = -1;
    if (due != kNone) {
      const std::int64_t left = due - monotonic_us();
      wait_ms = left <= 0 ? 0 : left / 1000 + 1;
      if (wait_ms > 3600'000) wait_ms = 3600'000;
    }
    ::poll(polled, sizeof polled / sizeof *polled, int(wait_ms));
    if (polled[2].revents) read_news();
    take_handover();
    if (polled[1].revents || polled[4].revents) read_output();
    if (polled[0].revents) read_signals();
    const std::int64_t now = monotonic_us();
    if (ended_) return;
    if (now >= limit_at_) {
      limit_at_ = kNone;
      if (kill_at_ == kNone) {
        ending_.timed_out = true;
        stop(SIGTERM, head_.grace_us);
      }
    }
    if (now >= kill_at_) {
      killed_ = true;
      kill_all(job_, child_);
      kill_at_ = now + 200'000;  // again, until it is gone
    }
  }

  void read_signals() {
    signalfd_siginfo info;
    while (::read(signals_, &info, sizeof info) == ssize_t(sizeof info)) {
      if (int(info.ssi_signo) != kStopSignal || info.ssi_code != SI_QUEUE || info.ssi_ptr >> 56 != 0x5A) continue;
      const int asked = int(info.ssi_ptr & 0xFF);
      const std::int64_t told_us = std::int64_t(info.ssi_ptr >> 8 & 0xFFFFFFFFFF) * 1000;
      if (asked == SIGCONT && held_)
        granted(told_us);
      else if (asked == SIGSTOP || asked == SIGCONT)
        suspend(asked == SIGSTOP);
      else
        order(asked, told_us, int(info.ssi_ptr >> 48 & 0xFF));
    }
    for (;;) {
      int status = 0;
      rusage used{};
      const pid_t pid = ::wait4(-1, &status, WNOHANG, &used);
      if (pid < 0 && errno == EINTR) continue;
      if (pid <= 0) return;
      if (pid != child_) continue;
      ended_ = true;
      ending_.ended_us = unix_us();
      ending_.ended_steady_us = boot_us();
      ending_.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      ending_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      ending_.peak_mib = (used.ru_maxrss + 1023) / 1024;
      return;
    }
  }

  void granted(std::int64_t limit_us) {
    held_ = false;
    limit_us_ = limit_us;
    if (limit_us_ > 0 && kill_at_ == kNone) limit_at_ = monotonic_us() + limit_us_;
  }

  // While it is stopped its time limit stands still. One that is being ended is left alone.
  void suspend(bool on) {
    if (kill_at_ != kNone || on == suspended_) return;
    suspended_ = on;
    const std::int64_t now = monotonic_us();
    if (limit_at_ != kNone) limit_left_ = limit_at_ - now;
    limit_at_ = on || limit_us_ <= 0 ? kNone : now + limit_left_;
    if (::kill(-child_, on ? SIGSTOP : SIGCONT) != 0) ::kill(child_, on ? SIGSTOP : SIGCONT);
    stop_all(on);  // also what has left its process group
  }

  void order(int signal, std::int64_t grace_us, int why) {
    siginfo_t gone{};
    const bool too_late =
        ::waitid(P_PID, id_t(child_), &gone, WEXITED | WNOHANG | WNOWAIT) == 0 && gone.si_pid == child_;
    if (why != 0 && !too_late) ending_.ordered = why;
    stop(signal, grace_us);
  }

  void stop(int signal, std::int64_t grace_us) {
    if (signal <= 0 || signal >= NSIG) signal = SIGTERM;
    const std::int64_t at = monotonic_us() + grace_us;
    if (kill_at_ == kNone || at < kill_at_) kill_at_ = at;
    first_signal_ = signal;
    if (grace_us == 0 || signal == SIGKILL) {
      kill_at_ = 0;
      first_signal_ = SIGKILL;
      return;
    }
    if (::kill(-child_, signal) != 0) ::kill(child_, signal);  // it may not be a group of its own yet
    if (suspended_) stop_all(false);
    ::kill(-child_, SIGCONT);  // a stopped job hears it too
    ::kill(child_, SIGCONT);
  }

  void read_news() {
    ChildNews news;
    ssize_t n = 0;
    while (news_[0] >= 0 && (n = ::read(news_[0], &news, sizeof news)) == ssize_t(sizeof news)) {
      news.words[sizeof news.words - 1] = 0;
      if (news.ready)
        ready_ = true;
      else if (!failed_)
        failed_ = true, ending_.words.add("%s", news.words);
    }
    if (n == 0) close_fd(news_[0]);
  }

  void take_handover() {
    while (take_descriptor()) {
    }
  }

  bool take_descriptor() {
    if (handover_[0] < 0) return false;
    char byte = 0, control[CMSG_SPACE(sizeof(int))] = {};
    iovec data{&byte, 1};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(handover_[0], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0) return false;
    for (cmsghdr* at = CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at)) {
      if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
      int fd = -1;
      ::memcpy(&fd, CMSG_DATA(at), sizeof fd);
      byte == 'e' ? log_.copy_errors_to(fd) : log_.copy_to(fd);
    }
    if (n == 0) close_fd(handover_[0]);
    return n > 0;
  }

  bool read_output() {
    const bool some = read_part(output_[0], false);
    return read_part(errors_[0], true) || some;
  }

  bool read_part(int& fd, bool errors) {
    if (fd < 0) return false;
    const ssize_t n = ::read(fd, output_buffer, sizeof output_buffer);
    if (n > 0) {
      errors ? log_.write_error(output_buffer, std::size_t(n)) : log_.write(output_buffer, std::size_t(n));
      return true;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) close_fd(fd);
    return false;
  }

  void describe() {
    describe_end();
    if (log_.dropped() > 0)
      ending_.words.add("%s%llu bytes of its output were dropped", ending_.words.length ? "; " : "",
                        (unsigned long long)log_.dropped());
  }

  void describe_end() {
    if (ending_.ended_steady_us == 0) {
      ending_.ended_us = unix_us();
      ending_.ended_steady_us = boot_us();
    }
    if (const std::int64_t peak = peak_bytes(job_); peak > 0) ending_.peak_mib = (peak + (1 << 20) - 1) >> 20;
    ending_.never_started |= failed_;
    if (ending_.never_started) return;
    if (!ready_) {
      ending_.never_started = true;
      ending_.words.add("it ended before its command could run%s", first_signal_ ? ": it was stopped" : "");
      return;
    }
    ending_.host_oom = ending_.code != 0 && saw_oom_kill(job_);
    Words& words = ending_.words;
    if (ending_.host_oom) words.add("out of host memory (limit %u MiB)", head_.host_mem_mib);
    if (ending_.timed_out) words.add("%sits time limit of %.6g s passed", words.length ? "; " : "", limit_us_ / 1e6);
    const char* const name = ::sigabbrev_np(first_signal_);
    if (first_signal_ == SIGKILL)
      words.add("%skilled as asked", words.length ? "; " : "");
    else if (first_signal_ != 0)
      words.add("%s%s SIG%s", words.length ? "; " : "", killed_ ? "killed, for it did not end after" : "ended after",
                name ? name : "RT");
    else if (ending_.signal != 0 && !ending_.host_oom)
      words.add("killed by signal %d (%s)", ending_.signal, ::strsignal(ending_.signal));
    else if (ending_.code > 0 && !ending_.host_oom)
      words.add("exit code %d", ending_.code);
  }

  // The truth first, on the disk; then nothing of the job stays behind. What the kernel does not let die (a file system or
  // a device that does not answer) is left, and told by our exit.
  bool finish() {
    read_news();
    take_handover();
    // What it wrote before it ended; a child of it may go on writing, so not for ever.
    for (int part = 0; part < 64 && read_output(); ++part) {
    }
    describe();
    bool written = write_ending(ending_);
    const std::int64_t patience = monotonic_us() + head_.patience_us;
    bool left = child_ > 0 && has_children();
    for (; left && monotonic_us() < patience; left = has_children()) {
      kill_all(job_, 0);
      read_output();
      ::usleep(2000);
    }
    while (read_output()) {
    }
    log_.finish();
    remove_groups(job_);
    // While the disk is full we wait for room: as long as we live the attempt counts as running, and nothing is lost.
    while (!written && errno != ENOENT && errno != ENOTDIR) {
      ::usleep(500'000);
      written = write_ending(ending_);
    }
    return !left;
  }

  static void close_fd(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }

  const Job& job_;
  const LaunchHead& head_;
  LogCapture log_;
  Ending ending_;
  int signals_ = -1, output_[2] = {-1, -1}, errors_[2] = {-1, -1}, news_[2] = {-1, -1}, handover_[2] = {-1, -1};
  pid_t child_ = -1;
  std::int64_t limit_us_ = head_.time_limit_us;  // 0: none
  bool held_ = head_.held != 0;                  // it has no slice yet
  std::int64_t limit_at_ = kNone, kill_at_ = kNone, limit_left_ = 0;
  int first_signal_ = 0;
  bool ended_ = false, ready_ = false, failed_ = false, killed_ = false, suspended_ = false;
};

}  // namespace

int main(int argc, char**) {
  if (argc != 3 || ::fcntl(kReportFd, F_GETFD) < 0 || ::fcntl(kBlockFd, F_GETFD) < 0 ||
      ::fcntl(kDirectoryFd, F_GETFD) < 0) {
    ::fputs("smartmig-supervisor: started by smartmig serve for each job; it does nothing by hand\n", stderr);
    return 2;
  }
  for (int fd : {kReportFd, kBlockFd, kDirectoryFd}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (::syscall(SYS_close_range, unsigned(kDirectoryFd + 1), ~0u, 0u) != 0)
    for (int fd = kDirectoryFd + 1, most = int(::sysconf(_SC_OPEN_MAX)); fd < most; ++fd) ::close(fd);
  // Nothing but SIGKILL ends a supervisor; SIGPIPE and SIGXFSZ become errors of write.
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::umask(077);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (::chdir("/") != 0) refuse(SupervisorReport::kFailed, "cannot enter /", errno);

  const Job job = read_block();
  if (!take_lock()) refuse(SupervisorReport::kExists, "the attempt's lock is taken", errno);
  if (!place_is_ours()) refuse(SupervisorReport::kExists, "the attempt was given up before its supervisor came", errno);
  int error = 0;
  if (!reserve_ending(error)) refuse(SupervisorReport::kFailed, "cannot write into the spool", error);
  SupervisorReport report;
  report.start_ticks = own_start_ticks();
  report.pid = ::getpid();
  const Made made = make_record(job, report.start_ticks, error);
  if (made != Made::kMade)
    refuse(made == Made::kExists ? SupervisorReport::kExists : SupervisorReport::kFailed, "cannot make the record",
           error);
  report.what = SupervisorReport::kStarted;
  [[maybe_unused]] const auto told = ::write(kReportFd, &report, sizeof report);
  ::close(kReportFd);

  Supervisor supervisor(job);
  ::_exit(supervisor.run() ? kLeftNothing : kLeftSomething);
}
