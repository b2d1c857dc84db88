// The job's side of `smartmig run --pty`, which puts it before the command: it makes the terminal that the command
// runs in and carries its bytes to and from the client. A client that is gone means a hangup.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <initializer_list>

#include "cli/queue/pty_link.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

constexpr int kHungUp = 128 + SIGHUP;
constexpr int kPatienceMs = 10'000;  // with what goes on after a hangup

class TerminalOfJob {
 public:
  // `before`: what the client sent before there was a terminal.
  TerminalOfJob(PtyLink& link, int master, pid_t child, int signals, const std::vector<PtyLink::Frame>& before)
      : link_(link), master_(master), child_(child), signals_(signals) {
    ::fcntl(master_, F_SETFL, ::fcntl(master_, F_GETFL) | O_NONBLOCK);
    take(before);
  }

  int run() {
    while (code_ < 0 && !gone_) wait_for_something(-1);
    if (gone_) return hang_up();
    while (read_master()) {
    }
    link_.send('x', std::string(1, char(code_)));
    return code_;
  }

 private:
  void wait_for_something(int wait_ms) {
    pollfd polled[] = {{signals_, POLLIN, 0},
                       {master_, short(POLLIN | (input_.empty() ? 0 : POLLOUT)), 0},
                       {gone_ || input_.size() > 65536 ? -1 : link_.fd(), POLLIN, 0}};
    ::poll(polled, 3, wait_ms);
    if (polled[2].revents) read_link();
    if (polled[1].revents & POLLOUT) write_master();
    if (polled[1].revents & (POLLIN | POLLHUP)) read_master();
    if (polled[0].revents) read_signals();
  }

  // What the command writes goes to the client, and to the log as that of any job.
  bool read_master() {
    char buffer[16384];
    const ssize_t n = master_ < 0 ? -1 : ::read(master_, buffer, sizeof buffer);
    if (n > 0) {
      if (!gone_ && !link_.send('d', {buffer, std::size_t(n)})) gone_ = true;
      [[maybe_unused]] const auto logged = ::write(STDOUT_FILENO, buffer, std::size_t(n));
      return true;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) close_master();  // nothing has the terminal open
    return false;
  }

  void write_master() {
    const ssize_t n = ::write(master_, input_.data(), input_.size());
    if (n > 0) input_.erase(0, std::size_t(n));
  }

  void read_link() {
    std::vector<PtyLink::Frame> frames;
    if (!link_.receive(frames)) gone_ = true;
    take(frames);
  }

  void take(const std::vector<PtyLink::Frame>& frames) {
    for (const PtyLink::Frame& frame : frames) {
      const winsize size = frame.kind == 'w' ? size_in(frame.data) : winsize{};
      if (frame.kind == 'd') input_ += frame.data;
      if (frame.kind == 'w' && master_ >= 0) ::ioctl(master_, TIOCSWINSZ, &size);
    }
    if (!input_.empty() && master_ >= 0) write_master();
  }

  // Shells ignore SIGTERM where they talk to people; a hangup ends them.
  void read_signals() {
    signalfd_siginfo info;
    while (::read(signals_, &info, sizeof info) == ssize_t(sizeof info)) {
      const int signal = int(info.ssi_signo);
      if (signal == SIGCHLD) continue;
      ::kill(-child_, signal);
      if (signal == SIGTERM) ::kill(-child_, SIGHUP);
    }
    int status = 0;
    if (code_ < 0 && ::waitpid(child_, &status, WNOHANG) == child_)
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  int hang_up() {
    close_master();
    ::kill(-child_, SIGHUP);
    ::kill(-child_, SIGCONT);
    for (int waited = 0; code_ < 0 && waited < kPatienceMs; waited += 100) wait_for_something(100);
    std::fputs("smartmig: the terminal was closed\n", stderr);
    return kHungUp;
  }

  void close_master() {
    if (master_ >= 0) ::close(master_);
    master_ = -1;
  }

  PtyLink& link_;
  int master_;
  const pid_t child_;
  const int signals_;
  std::string input_;
  int code_ = -1;
  bool gone_ = false;
};

int say_and_leave(const std::string& words, int code) {
  fmt::print(stderr, "smartmig: {}\n", words);
  return code;
}

}  // namespace

int run_pty_job(const Arguments& arguments) {
  const char* const name = ::getenv(kPtyVariable);
  if (!name || arguments.size() < 2 || arguments[0] != "--")
    return say_and_leave("smartmig run --pty starts this command itself; do not call it", 2);
  const auto socket = pty_connect(name);
  if (!socket) return say_and_leave(socket.error().what, kHungUp);
  PtyLink link(*socket);
  if (!same_user(link.fd())) return say_and_leave("the terminal of this job belongs to another user", kHungUp);
  ::unsetenv(kPtyVariable);
  std::vector<PtyLink::Frame> first;
  while (first.empty())
    if (!link.receive(first)) return say_and_leave("the client disconnected before the job started", kHungUp);
  const winsize size = size_in(first[0].data);

  sigset_t heard, none;
  ::sigemptyset(&none);
  ::sigemptyset(&heard);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) ::sigaddset(&heard, signal);
  ::sigprocmask(SIG_BLOCK, &heard, nullptr);
  const int signals = ::signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
  std::vector<char*> command;
  for (std::size_t i = 1; i < arguments.size(); ++i) command.push_back(const_cast<char*>(arguments[i].c_str()));
  command.push_back(nullptr);
  int master = -1;
  const pid_t child = ::forkpty(&master, nullptr, nullptr, &size);
  if (child < 0 || signals < 0) return say_and_leave(fmt::format("no terminal: {}", ::strerror(errno)), 1);
  if (child == 0) {
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvp(command[0], command.data());
    ::dprintf(STDERR_FILENO, "smartmig: cannot run %s: %s\r\n", command[0], ::strerror(errno));
    ::_exit(127);
  }
  ::fcntl(master, F_SETFD, FD_CLOEXEC);
  return TerminalOfJob(link, master, child, signals, first).run();
}

}  // namespace smartmig::cli
