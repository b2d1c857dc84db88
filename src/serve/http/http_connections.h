// The connections of a server: who is at the other end, how many each user has, and how long a request may take to
// arrive. A thread looks twice a second, while there are connections at all, and cuts those whose request is not
// complete in time, however steadily they drip. Thread rule: any thread.
#pragma once
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "serve/http/service.h"

namespace smartmig {

struct HttpConnection {
  int fd = -1;
  Caller peer;  // of a Unix socket
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  bool receiving = true;  // no request of it is being answered
};

class HttpConnections {
 public:
  struct Options {
    bool peers = false;     // Unix: learn the user, limit the connections of each
    bool may_write = true;  // without TLS a refusal can be written to the socket as it is
    int max_of_peer = 128;
    double receive_s = 30;
  };
  explicit HttpConnections(const Options& options);
  ~HttpConnections();
  Result<Ok> start();  // once, before the first connection

  HttpConnection* add(int fd);              // one above the limit of its user is told 429 and shut down
  void remove(HttpConnection* connection);  // REQUIRES: before its descriptor is closed
  void answering(HttpConnection& connection);
  void answered(HttpConnection& connection);
  bool wait_until_answered(std::chrono::milliseconds most);  // all of them

 private:
  void watch();
  void cut_slow();

  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<HttpConnection*> all_;
  std::map<std::uint32_t, int> of_uid_;
  int answering_ = 0;
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace smartmig
