#include "http/http_acceptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/thread.h"

namespace smartmig {
namespace {

constexpr int kPauseMs = 20, kAtOnce = 64;
constexpr int kUntilCutMs = 1;  // a connection that was cut gives up its descriptor in less
constexpr std::size_t kSpares = 8;

}  // namespace

Result<Ok> HttpAcceptor::start() {
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  if (wake_ < 0) return io_error("cannot create the descriptor that stops the server: {}", std::strerror(errno));
  keep_spares();
  SMARTMIG_TRY(thread_, start_thread("new connections", [this] { run(); }));
  return Ok{};
}

void HttpAcceptor::stop() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    (void)!::write(wake_, &one, sizeof one);
    thread_.join();
  }
  if (wake_ >= 0) ::close(wake_);
  wake_ = -1;
  while (free_spare()) {
  }
}

void HttpAcceptor::run() {
  for (int pause_ms = 0;;) {
    pollfd polled[] = {{wake_, POLLIN, 0}, {listening_, POLLIN, 0}};
    (void)::poll(polled, pause_ms > 0 ? 1 : 2, pause_ms > 0 ? pause_ms : -1);
    if (polled[0].revents != 0) return;
    pause_ms = take_waiting();
  }
}

void HttpAcceptor::keep_spares() {
  while (spares_.size() < kSpares) {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    spares_.push_back(fd);
  }
}

bool HttpAcceptor::free_spare() {
  if (spares_.empty()) return false;
  ::close(spares_.back());
  spares_.pop_back();
  return true;
}

int HttpAcceptor::take_waiting() {
  keep_spares();
  for (int i = 0; i < kAtOnce; ++i) {
    if (!connections_.expect()) return kPauseMs;
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd = ::accept4(listening_, reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const int error = errno;
    if (fd >= 0 && take_(fd, reinterpret_cast<const sockaddr*>(&address), size)) continue;
    connections_.expected_in_vain();
    if (fd >= 0 || error == EINTR || error == ECONNABORTED) continue;
    if (error == EAGAIN) return 0;
    if (error == EMFILE || error == ENFILE) {
      if (free_spare()) continue;
      if (connections_.make_room()) return kUntilCutMs;
    }
    return kPauseMs;
  }
  return 0;
}

}  // namespace smartmig
