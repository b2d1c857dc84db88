#include "cli/queue/pty_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

namespace smartmig::cli {
namespace {

constexpr std::size_t kMostInFrame = 60'000;  // its length has two bytes

// A name that begins with a zero byte is no file.
socklen_t abstract_address(const std::string& name, sockaddr_un& out) {
  out = {};
  out.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), out.sun_path + 1);
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

}  // namespace

Result<std::pair<int, std::string>> pty_listen() {
  unsigned char random[16];
  if (::getrandom(random, sizeof random, 0) != ssize_t(sizeof random))
    return io_error("the kernel provides no random numbers");
  std::string name = "smartmig-pty-";
  for (const unsigned char byte : random) name += fmt::format("{:02x}", byte);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address;
  const socklen_t size = abstract_address(name, address);
  if (fd < 0 || ::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0 || ::listen(fd, 1) != 0)
    return io_error("cannot open a socket for the terminal: {}", ::strerror(errno));
  return std::pair(fd, name);
}

Result<int> pty_connect(const std::string& name) {
  if (name.empty() || name.size() > 100) return invalid("{} does not name a terminal", kPtyVariable);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address;
  const socklen_t size = abstract_address(name, address);
  if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0) return fd;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  return Error{Error::kLost, fmt::format("the terminal of this job is closed: {}", ::strerror(error))};
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

PtyLink::~PtyLink() { ::close(fd_); }

bool PtyLink::send(char kind, std::string_view data) {
  do {
    const std::string_view part = data.substr(0, kMostInFrame);
    data.remove_prefix(part.size());
    std::string frame{kind, char(part.size() >> 8), char(part.size() & 0xFF)};
    frame += part;
    for (std::size_t sent = 0; sent < frame.size();) {
      const ssize_t n = ::send(fd_, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      sent += std::size_t(n);
    }
  } while (!data.empty());
  return true;
}

bool PtyLink::send_size(const winsize& size) {
  const auto two = [](unsigned n) { return std::string{char(n >> 8 & 0xFF), char(n & 0xFF)}; };
  return send('w', two(size.ws_row) + two(size.ws_col));
}

winsize size_in(const std::string& data) {
  winsize size{};
  if (data.size() != 4) return size;
  const auto at = [&](std::size_t i) {
    return (unsigned short)((unsigned char)data[i] << 8 | (unsigned char)data[i + 1]);
  };
  size.ws_row = at(0);
  size.ws_col = at(2);
  return size;
}

bool PtyLink::receive(std::vector<Frame>& frames) {
  char buffer[65536];
  ssize_t n = 0;
  do n = ::recv(fd_, buffer, sizeof buffer, 0);
  while (n < 0 && errno == EINTR);
  if (n > 0) unread_.append(buffer, std::size_t(n));
  std::size_t at = 0;
  while (unread_.size() - at >= 3) {
    const std::size_t length = std::size_t((unsigned char)unread_[at + 1]) << 8 | (unsigned char)unread_[at + 2];
    if (unread_.size() - at - 3 < length) break;
    frames.push_back({unread_[at], unread_.substr(at + 3, length)});
    at += 3 + length;
  }
  unread_.erase(0, at);
  return n > 0;
}

}  // namespace smartmig::cli
