#include "http/http_connections.h"

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
constexpr std::string_view kNoRoom =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\nRetry-After: 1\r\n\r\n";
constexpr std::chrono::milliseconds kYoung{100};  // one whose request is on its way

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

bool HttpConnections::expect() {
  const std::scoped_lock lock(mutex_);
  if (int(all_.size()) + expected_ >= options_.max_connections) return false;
  ++expected_;
  return true;
}

void HttpConnections::expected_in_vain() {
  const std::scoped_lock lock(mutex_);
  --expected_;
}

bool HttpConnections::make_room() {
  const std::scoped_lock lock(mutex_);
  std::map<std::uint32_t, int> idle;
  const auto young = Clock::now() - kYoung;
  const auto is_idle = [&](const HttpConnection& c) { return c.receiving && !c.cut && c.since <= young; };
  for (const HttpConnection* c : all_) idle[c->peer.uid] += is_idle(*c);
  HttpConnection* worst = nullptr;
  for (HttpConnection* c : all_) {
    if (!is_idle(*c)) continue;
    const auto rank = [&](const HttpConnection& one) { return std::pair(-idle[one.peer.uid], one.since); };
    if (!worst || rank(*c) < rank(*worst)) worst = c;
  }
  if (worst) cut(*worst, kNoRoom);
  return worst != nullptr;
}

void HttpConnections::cut(HttpConnection& connection, std::string_view words) {
  connection.cut = true;
  // One that had its answer is not told another one: it would read that as the answer to what it asks next.
  if (options_.may_write && !connection.had_answer)
    (void)!::send(connection.fd, words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(connection.fd, SHUT_RDWR);
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
  --expected_;
  all_.insert(made);
  if (options_.peers && ++of_uid_[made->peer.uid] > options_.max_of_peer) cut(*made, kTooMany);
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
  connection.had_answer = true;
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
  for (HttpConnection* c : all_)
    if (c->receiving && c->since <= late) cut(*c, kTooLate);
}

}  // namespace smartmig
