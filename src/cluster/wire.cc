#include "cluster/wire.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/thread.h"

namespace smartmig {
namespace {

constexpr Time kReadLimit{10'000'000};
constexpr int kMostConnections = 64, kLookEachMs = 200;

struct Addresses {
  addrinfo* list = nullptr;
  ~Addresses() {
    if (list) ::freeaddrinfo(list);
  }
};

Result<std::unique_ptr<Addresses>> resolve(const std::string& address, int flags) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size())
    return invalid("'{}' is not an address such as node1:6821", address);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  auto out = std::make_unique<Addresses>();
  const std::string host = address.substr(0, colon);
  const int failed =
      ::getaddrinfo(host.empty() ? nullptr : host.c_str(), address.c_str() + colon + 1, &wanted, &out->list);
  if (failed) return io_error("cannot resolve {}: {}", address, ::gai_strerror(failed));
  return out;
}

class Deadline {
 public:
  explicit Deadline(Patience patience)
      : at_(std::chrono::steady_clock::now() + patience.limit), given_up_(patience.given_up) {}
  int left_ms() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(at_ - std::chrono::steady_clock::now());
    return int(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
  }
  bool wait(int socket, short events) const {
    pollfd poll{socket, events, 0};
    for (;;) {
      const int left = left_ms();
      if (left == 0 || (given_up_ && *given_up_)) return false;
      const int ready = ::poll(&poll, 1, given_up_ ? std::min(left, kLookEachMs) : left);
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
  }

 private:
  std::chrono::steady_clock::time_point at_;
  const std::atomic<bool>* given_up_;
};

Result<Ok> send_all(int socket, const std::string& text, const Deadline& deadline, const std::string& whom) {
  for (std::size_t sent = 0; sent < text.size();) {
    if (!deadline.wait(socket, POLLOUT)) return timeout_error("{} takes no data", whom);
    const ssize_t n = ::send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) return io_error("cannot write to {}: {}", whom, std::strerror(errno));
    sent += std::size_t(n);
  }
  ::shutdown(socket, SHUT_WR);
  return Ok{};
}

Result<std::string> receive_all(int socket, const Deadline& deadline, const std::string& whom) {
  std::string out;
  char buffer[16384];
  for (;;) {
    if (!deadline.wait(socket, POLLIN)) return timeout_error("{} does not answer", whom);
    const ssize_t n = ::recv(socket, buffer, sizeof buffer, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) return io_error("cannot read from {}: {}", whom, std::strerror(errno));
    if (n == 0) return out;
    if (out.size() + std::size_t(n) > kMostWire) return invalid("{} sends more than {} bytes", whom, kMostWire);
    out.append(buffer, std::size_t(n));
  }
}

struct Socket {
  int fd = -1;
  explicit Socket(int opened) : fd(opened) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

Result<std::string> ask_over_wire(const std::string& address, const std::string& text, Patience patience) {
  const Deadline deadline(patience);
  SMARTMIG_TRY(const auto addresses, resolve(address, 0));
  std::string words = "no address";
  for (const addrinfo* one = addresses->list; one; one = one->ai_next) {
    const Socket socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.fd < 0) continue;
    if (::connect(socket.fd, one->ai_addr, one->ai_addrlen) != 0 && errno != EINPROGRESS) {
      words = std::strerror(errno);
      continue;
    }
    if (!deadline.wait(socket.fd, POLLOUT)) return timeout_error("{} does not answer", address);
    int failed = 0;
    socklen_t size = sizeof failed;
    ::getsockopt(socket.fd, SOL_SOCKET, SO_ERROR, &failed, &size);
    if (failed) {
      words = std::strerror(failed);
      continue;
    }
    SMARTMIG_RETURN_IF_ERROR(send_all(socket.fd, text, deadline, address));
    return receive_all(socket.fd, deadline, address);
  }
  return io_error("cannot reach {}: {}", address, words);
}

Result<WireServer> WireServer::listen(const std::string& address,
                                      std::function<std::string(const std::string&)> answer) {
  SMARTMIG_TRY(const auto addresses, resolve(address, AI_PASSIVE));
  std::string words = "no address";
  for (const addrinfo* one = addresses->list; one; one = one->ai_next) {
    const int fd = ::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) continue;
    const int yes = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(fd, one->ai_addr, one->ai_addrlen) == 0 && ::listen(fd, 128) == 0)
      return WireServer(fd, std::move(answer));
    words = std::strerror(errno);
    ::close(fd);
  }
  return io_error("cannot listen on {}: {}", address, words);
}

WireServer::WireServer(WireServer&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), answer_(std::move(other.answer_)) {}

WireServer::~WireServer() {
  if (socket_ >= 0) ::close(socket_);
}

int WireServer::port() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return address.ss_family == AF_INET6 ? ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port)
                                       : ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

void WireServer::serve(int connection) {
  const Socket socket(connection);
  const auto question = receive_all(socket.fd, Deadline(kReadLimit), "the client");
  if (!question || question->empty()) return;
  (void)send_all(socket.fd, answer_(*question), Deadline(kReadLimit), "the client");
}

void WireServer::run(const std::atomic<bool>& stop) {
  struct Served {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> done;
  };
  std::vector<Served> threads;
  while (!stop) {
    std::erase_if(threads, [](Served& one) {
      if (!*one.done) return false;
      one.thread.join();
      return true;
    });
    pollfd poll{socket_, POLLIN, 0};
    if (threads.size() >= kMostConnections || ::poll(&poll, 1, 100) <= 0) {
      if (threads.size() >= kMostConnections) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) {  // it may be short of descriptors
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    auto done = std::make_shared<std::atomic<bool>>(false);
    auto thread = start_thread("a connection", [this, connection, done] {
      serve(connection);
      *done = true;
    });
    if (thread)
      threads.push_back({std::move(*thread), done});
    else
      ::close(connection);  // whoever asks asks again
  }
  for (Served& one : threads) one.thread.join();
}

}  // namespace smartmig
