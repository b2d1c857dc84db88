// A server over a service in memory, and a client that sends exactly the bytes it is told to.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "http/api.h"
#include "http/http_server.h"
#include "support/fake_service.h"
#include "support/temp_dir.h"

namespace smartmig::http_test {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class RawClient {
 public:
  RawClient() { fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }  // connect() it
  explicit RawClient(const std::string& path) : RawClient() { connect(path); }
  explicit RawClient(int port) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(std::uint16_t(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { ::close(fd_); }
  void connect(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  bool connected() const { return connected_; }
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      text.remove_prefix(std::size_t(n));
    }
    return true;
  }
  // Until `enough` is there, the peer closes, or the time is over.
  std::string read_until(const std::string& enough, double limit_s = 10) {
    const auto end = Clock::now() + std::chrono::duration<double>(limit_s);
    while (got_.find(enough) == got_.npos && Clock::now() < end) {
      pollfd look{fd_, POLLIN, 0};
      if (::poll(&look, 1, 50) <= 0) continue;
      char buffer[65536];
      const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      got_.append(buffer, std::size_t(n));
    }
    return got_;
  }
  // The next reply with a Content-Length: status and body.
  std::pair<int, std::string> reply(double limit_s = 10) {
    const std::string head = read_until("\r\n\r\n", limit_s);
    const auto at = head.find("\r\n\r\n");
    if (at == head.npos) return {0, head};
    headers_ = head.substr(0, at);
    std::size_t length = 0;
    for (const char* name : {"Content-Length: ", "content-length: "})
      if (const auto where = headers_.find(name); where != headers_.npos)
        length = std::stoul(headers_.substr(where + 16));
    const auto end = Clock::now() + std::chrono::duration<double>(limit_s);
    while (got_.size() < at + 4 + length && Clock::now() < end) {
      char buffer[65536];
      const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      got_.append(buffer, std::size_t(n));
    }
    const std::string body = got_.substr(at + 4, length);
    got_.erase(0, at + 4 + length);
    return {std::stoi(headers_.substr(9, 3)), body};
  }
  std::pair<int, std::string> ask(const std::string& method, const std::string& target, const std::string& body = "",
                                  const std::string& more = "") {
    std::string text = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more;
    if (!body.empty())
      text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    if (!send(text + "\r\n" + body)) return {0, ""};
    return reply();
  }
  bool closed(double limit_s) {
    pollfd look{fd_, POLLIN | POLLRDHUP, 0};
    return ::poll(&look, 1, int(limit_s * 1000)) > 0 && (look.revents & (POLLRDHUP | POLLHUP));
  }
  const std::string& headers() const { return headers_; }

 private:
  int fd_ = -1;
  bool connected_ = false;
  std::string got_, headers_;
};

struct HttpWorld {
  TempDir dir;
  FakeService service;
  Api api{service, "test"};
  HttpServerOptions options;
  std::unique_ptr<HttpServer> server;
  HttpWorld() { options.socket = dir.path() + "/run/api.sock"; }
  ~HttpWorld() { service.close(); }
  void start() {
    auto made = HttpServer::start(api, options);
    ASSERT_TRUE(made) << made.error().what;
    server = std::move(*made);
  }
  RawClient client() { return server->port() ? RawClient(server->port()) : RawClient(options.socket); }
};

}  // namespace smartmig::http_test
