// Sockets of the daemon. A Unix socket is open to every user of the machine (mode 0666): the caller is known from the
// connection, and the API judges by that. A socket file that nobody listens on is a remain and is replaced; one that is
// answered belongs to another daemon and is not.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace smartmig {

class ListenSocket {
 public:
  // Makes the parent directory (0755) where it is missing. kBusy: another daemon answers there.
  static Result<ListenSocket> unix_at(const std::string& path);
  static Result<ListenSocket> tcp_at(const std::string& address, int port);  // port 0: any free one
  ListenSocket(ListenSocket&& other) noexcept;
  ListenSocket& operator=(ListenSocket&&) = delete;
  ~ListenSocket();  // closes, and removes the socket file if it is still ours

  int fd() const { return fd_; }
  int port() const { return port_; }
  bool loopback() const { return loopback_; }
  const std::string& name() const { return name_; }

 private:
  ListenSocket(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  int fd_ = -1, port_ = 0;
  bool loopback_ = false, is_unix_ = false;
  std::string name_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace smartmig
