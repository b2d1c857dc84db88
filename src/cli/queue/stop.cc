// smartmig stop: ends the daemon that listens at a Unix socket, by SIGTERM to the process at the socket's other end.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/errors.h"
#include "cli/queue/daemon_options.h"
#include "cli/time_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<::ucred> listener_of(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof address.sun_path) return invalid("{} is too long for a socket path", socket);
  socket.copy(address.sun_path, socket.size());
  const Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return io_error("cannot open a socket: {}", std::strerror(errno));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EACCES) return no_permission("you have no permission to open {}; ask its owner", socket);
    return lost_error("no daemon runs at {}", socket);
  }
  ::ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return io_error("cannot find out which process listens at {}: {}", socket, std::strerror(errno));
  if (peer.pid <= 0) return unsupported("the daemon at {} runs in another container; stop it there", socket);
  return peer;
}

Result<Ok> end_and_wait(const ::ucred& daemon, const std::string& socket, double most_s) {
  const Descriptor process(int(::syscall(SYS_pidfd_open, daemon.pid, 0)));
  if (process.get() < 0)
    return errno == ESRCH ? lost_error("no daemon runs at {}", socket)
                          : unsupported("cannot wait for process {}: {}; end it with kill {}", daemon.pid,
                                        std::strerror(errno), daemon.pid);
  if (::syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0) != 0)
    return no_permission("the daemon at {} (process {}) belongs to user {}; ask that user or root to stop it", socket,
                         daemon.pid, daemon.uid);
  pollfd gone{process.get(), POLLIN, 0};
  const int ended = ::poll(&gone, 1, int(most_s * 1000));
  if (ended > 0) return Ok{};
  return timeout_error("the daemon at {} (process {}) has not ended within {}; see its log", socket, daemon.pid,
                       duration_words(most_s));
}

// How many jobs go on without it; none where it does not say.
std::optional<int> running_jobs(const DaemonOptions& options) {
  auto client = options.connect();
  if (!client) return std::nullopt;
  const auto status = client->get("/v1/status");
  if (!status) return std::nullopt;
  const Json& queue = object_at(*status, "queue");
  double running = 0;
  for (const char* state : {"starting", "running", "stopping"}) running += number_at(queue, state).value_or(0);
  return int(running);
}

}  // namespace

int run_stop(const Arguments& arguments) {
  DaemonOptions options;
  std::string patience = "1m";
  Command cmd(
      "stop", "",
      "Stops the daemon of this machine and waits until it is gone. SIGTERM and systemctl stop have the same effect. Running jobs continue, waiting jobs are stored, and the next smartmig serve takes both over. To end the jobs too, run smartmig cancel --all first.",
      "smartmig stop");
  cmd.option("--timeout", patience, "TIME", "how long to wait for the daemon to end, such as 30s or 2m");
  options.declare(cmd);
  if (const auto end = cmd.ends(arguments)) return *end;
  const auto most = read_duration(patience, Time(1'000'000));
  if (!most || seconds(*most) > 86'400)
    return usage_error(invalid("--timeout: {}", most ? "must be at most one day" : most.error().what));
  if (!options.server.empty())
    return usage_error(
        invalid("smartmig stop works only on the daemon's own machine; leave out --server and run it there"));
  const auto target = DaemonClient::target(options.socket, "", "", "");
  if (!target) return failure(target.error());
  if (target->socket.empty())
    return usage_error(invalid(
        "SMARTMIG_SERVER names a daemon on another machine; to stop a daemon of this machine, use --socket PATH"));
  const auto daemon = listener_of(target->socket);
  if (!daemon) return failure(daemon.error());
  const auto running = running_jobs(options);
  if (const auto ended = end_and_wait(*daemon, target->socket, seconds(*most)); !ended) return failure(ended.error());
  if (options.json)
    print_json({{"socket", target->socket}, {"pid", daemon->pid}, {"running_jobs", running ? Json(*running) : Json()}});
  else
    fmt::print("the daemon has ended{}\n",
               running.value_or(0) == 0 ? ""
               : *running == 1
                   ? "; 1 job continues, and the next smartmig serve takes it over"
                   : fmt::format("; {} jobs continue, and the next smartmig serve takes them over", *running));
  return 0;
}

}  // namespace smartmig::cli
