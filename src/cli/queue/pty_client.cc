#include "cli/queue/pty_client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "cli/queue/follow.h"
#include "cli/queue/pty_link.h"

namespace smartmig::cli {
namespace {

// Raw while it lives.
class RawTerminal {
 public:
  RawTerminal() {
    held_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    termios raw = before_;
    ::cfmakeraw(&raw);
    if (held_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  ~RawTerminal() {
    if (held_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }

 private:
  termios before_{};
  bool held_ = false;
};

winsize own_size() {
  winsize size{};
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) size.ws_row = 24, size.ws_col = 80;
  return size;
}

void show_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    bytes.remove_prefix(std::size_t(n));
  }
}

bool ended(const Json& job) {
  const std::string state = text_at(job, "state");
  return state == "done" || state == "failed" || state == "cancelled" || state == "timed_out";
}

}  // namespace

Result<PtyClient> PtyClient::open() {
  if (!::isatty(STDIN_FILENO)) return invalid("--pty needs a terminal as standard input");
  PtyClient out;
  SMARTMIG_TRY(auto listening, pty_listen());
  out.listener_ = listening.first;
  out.name_ = listening.second;
  sigset_t resized;
  ::sigemptyset(&resized);
  ::sigaddset(&resized, SIGWINCH);
  ::pthread_sigmask(SIG_BLOCK, &resized, nullptr);
  out.resized_ = ::signalfd(-1, &resized, SFD_CLOEXEC | SFD_NONBLOCK);
  return out;
}

PtyClient::PtyClient(PtyClient&& other) noexcept
    : listener_(std::exchange(other.listener_, -1)),
      resized_(std::exchange(other.resized_, -1)),
      name_(std::move(other.name_)) {}

PtyClient::~PtyClient() {
  for (const int fd : {listener_, resized_})
    if (fd >= 0) ::close(fd);
}

Result<Json> PtyClient::wrapped(Json spec) const {
  if (spec.contains("script")) return invalid("--pty runs a command, not a script: smartmig run --pty -- bash SCRIPT");
  char self[4096];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return io_error("cannot find the path of this program");
  Json command = {std::string(self, std::size_t(length)), "pty-job", "--"};
  for (const Json& word : list_at(spec, "command")) command.push_back(word);
  const std::string program = command[3].get<std::string>();
  spec["pty"] = true;
  if (!spec.contains("name")) spec["name"] = program.substr(program.rfind('/') + 1);
  spec["command"] = std::move(command);
  spec["environment"].push_back(std::string(kPtyVariable) + "=" + name_);
  if (const char* const kind = ::getenv("TERM")) spec["environment"].push_back(std::string("TERM=") + kind);
  return spec;
}

bool PtyClient::relay(int connection) {
  PtyLink link(connection);
  RawTerminal raw;
  link.send_size(own_size());
  for (;;) {
    pollfd polled[] = {{link.fd(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}, {resized_, POLLIN, 0}};
    if (::poll(polled, 3, -1) < 0 && errno != EINTR) return false;
    if (polled[0].revents) {
      std::vector<PtyLink::Frame> frames;
      const bool there = link.receive(frames);
      for (const PtyLink::Frame& frame : frames) {
        if (frame.kind == 'd') show_bytes(frame.data);
        if (frame.kind == 'x' && frame.data.size() == 1) code_ = (unsigned char)frame.data[0];
      }
      if (code_ >= 0 || !there) return code_ >= 0;
    }
    if (polled[1].revents) {
      char keys[4096];
      const ssize_t n = ::read(STDIN_FILENO, keys, sizeof keys);
      if (n <= 0 && !(n < 0 && errno == EINTR)) return false;  // the terminal is gone: the job hears a hangup
      if (n > 0) link.send('d', {keys, std::size_t(n)});
    }
    if (polled[2].revents) {
      signalfd_siginfo info;
      while (::read(resized_, &info, sizeof info) > 0) {
      }
      link.send_size(own_size());
    }
  }
}

// A job that was stopped and starts again connects again.
Result<Json> PtyClient::serve(DaemonClient& client, std::uint64_t id) {
  for (;;) {
    pollfd polled{listener_, POLLIN, 0};
    ::poll(&polled, 1, code_ >= 0 ? 100 : 1000);
    if (polled.revents & POLLIN) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection >= 0 && !same_user(connection))
        ::close(connection);
      else if (connection >= 0)
        relay(connection);
    }
    const auto job = patient_get(client, fmt::format("/v1/jobs/{}", id));
    if (!job && code_ >= 0) return Json{{"id", id}, {"state", "done"}, {"exit_code", code_}};
    if (!job) return job.error();
    if (ended(*job)) return job;
  }
}

}  // namespace smartmig::cli
