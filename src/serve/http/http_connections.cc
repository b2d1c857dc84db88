#include "serve/http/http_connections.h"

#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

#include "base/thread.h"

namespace smartmig {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view kTooMany =
    "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
constexpr std::string_view kTooLate = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

void shut_down(int fd, bool may_write, std::string_view words) {
  if (may_write) (void)!::send(fd, words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(fd, SHUT_RDWR);
}

}  // namespace

HttpConnections::HttpConnections(const Options& options) : options_(options) {}

Result<Ok> HttpConnections::start() {
  SMARTMIG_TRY(watcher_, start_thread("connections", [this] { watch(); }));
  return Ok{};
}

HttpConnections::~HttpConnections() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (watcher_.joinable()) watcher_.join();
}

HttpConnection* HttpConnections::add(int fd) {
  auto* made = new HttpConnection;
  made->fd = fd;
  if (options_.peers) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
      made->peer.uid = peer.uid;
      made->peer.gid = peer.gid;
      made->peer.operator_rights = peer.uid == 0 || peer.uid == ::geteuid();
    }
  }
  const std::scoped_lock lock(mutex_);
  all_.insert(made);
  if (options_.peers && ++of_uid_[made->peer.uid] > options_.max_of_peer) shut_down(fd, options_.may_write, kTooMany);
  if (all_.size() == 1) changed_.notify_all();
  return made;
}

void HttpConnections::remove(HttpConnection* connection) {
  const std::scoped_lock lock(mutex_);
  all_.erase(connection);
  if (options_.peers)
    if (const auto at = of_uid_.find(connection->peer.uid); --at->second == 0) of_uid_.erase(at);
  delete connection;
}

void HttpConnections::answering(HttpConnection& connection) {
  const std::scoped_lock lock(mutex_);
  connection.receiving = false;
  ++answering_;
}

void HttpConnections::answered(HttpConnection& connection) {
  const std::scoped_lock lock(mutex_);
  connection.since = Clock::now();
  if (connection.receiving) return;
  connection.receiving = true;
  if (--answering_ == 0) changed_.notify_all();
}

bool HttpConnections::wait_until_answered(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [&] { return answering_ == 0; });
}

void HttpConnections::watch() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (all_.empty()) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, std::chrono::milliseconds(500), [&] { return stopping_; });
    cut_slow();
  }
}

void HttpConnections::cut_slow() {
  const auto late = Clock::now() - std::chrono::duration<double>(options_.receive_s);
  for (const HttpConnection* c : all_)
    if (c->receiving && c->since <= late) shut_down(c->fd, options_.may_write, kTooLate);
}

}  // namespace smartmig
