#include "http/listen_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/errors.h"
#include "live/own_directory.h"
#include "queue/config/places.h"

namespace smartmig {
namespace {

constexpr int kBacklog = 256;

Result<Ok> make_parent(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (path == default_socket()) {  // a place that others know beforehand
    SMARTMIG_TRY(const OwnDirectory own, OwnDirectory::open(parent.string(), 0755));
    return Ok{};
  }
  if (parent.empty() || std::filesystem::exists(parent)) return Ok{};
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) return io_error("cannot create the directory {} of the socket: {}", parent.string(), error.message());
  ::chmod(parent.c_str(), 0755);
  return Ok{};
}

bool somebody_answers(const sockaddr_un& address) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return true;
  const int rc = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const bool refused = rc != 0 && errno == ECONNREFUSED;
  ::close(fd);
  return !refused;  // a full backlog, for one, is somebody
}

Result<Ok> remove_remains(const std::string& path, const sockaddr_un& address) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0) return Ok{};
  if (!S_ISSOCK(file.st_mode))
    return busy_error("{} exists and is not a socket; remove it or choose another --socket", path);
  if (somebody_answers(address)) return busy_error("a daemon listens on {}; stop it or choose another --socket", path);
  if (::unlink(path.c_str()) != 0) return io_error("cannot remove the old socket {}: {}", path, std::strerror(errno));
  return Ok{};
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET)
    return (ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24) == 127;
  if (address->sa_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  return false;
}

}  // namespace

Result<ListenSocket> ListenSocket::unix_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return invalid("the socket path \"{}\" must have 1 to {} bytes", path, sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.data(), path.size());
  SMARTMIG_RETURN_IF_ERROR(make_parent(path));
  SMARTMIG_RETURN_IF_ERROR(remove_remains(path, address));
  ListenSocket made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), path);
  struct stat file {};
  if (made.fd_ < 0 || ::bind(made.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::lstat(path.c_str(), &file) != 0)
    return io_error("cannot create the socket {}: {}", path, std::strerror(errno));
  made.is_unix_ = true;
  made.device_ = file.st_dev;
  made.inode_ = file.st_ino;
  if (::chmod(path.c_str(), 0666) != 0 || ::listen(made.fd_, kBacklog) != 0)
    return io_error("cannot listen at {}: {}", path, std::strerror(errno));
  return made;
}

Result<ListenSocket> ListenSocket::tcp_at(const std::string& address, int port) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  const std::string service = std::to_string(port);
  if (const int code = ::getaddrinfo(address.c_str(), service.c_str(), &hints, &list); code != 0)
    return invalid("cannot listen at {}: {}", address, ::gai_strerror(code));
  const auto name = fmt::format("{}:{}", address, port);
  ListenSocket made(::socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), name);
  const int on = 1;
  if (made.fd_ >= 0) ::setsockopt(made.fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool bound = made.fd_ >= 0 && ::bind(made.fd_, list->ai_addr, list->ai_addrlen) == 0;
  const int problem = errno;
  made.loopback_ = is_loopback(list->ai_addr);
  ::freeaddrinfo(list);
  if (!bound) return io_error("cannot listen at {}: {}", name, std::strerror(problem));
  if (::listen(made.fd_, kBacklog) != 0) return io_error("cannot listen at {}: {}", name, std::strerror(errno));
  sockaddr_storage got{};
  socklen_t size = sizeof got;
  ::getsockname(made.fd_, reinterpret_cast<sockaddr*>(&got), &size);
  made.port_ = ntohs(got.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&got)->sin6_port
                                               : reinterpret_cast<sockaddr_in*>(&got)->sin_port);
  return made;
}

ListenSocket::ListenSocket(ListenSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      port_(other.port_),
      loopback_(other.loopback_),
      is_unix_(std::exchange(other.is_unix_, false)),
      name_(std::move(other.name_)),
      device_(other.device_),
      inode_(other.inode_) {}

ListenSocket::~ListenSocket() {
  if (is_unix_) {
    struct stat file {};
    if (::lstat(name_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_) ::unlink(name_.c_str());
  }
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace smartmig
