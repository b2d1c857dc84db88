// The connections of a server: who is at the other end, how many there are in all and of each user, and how long a request
// may take to arrive. A thread looks twice a second, while there are connections at all, and cuts those whose request is
// not complete in time, however steadily they drip. Thread rule: any thread.
#pragma once
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>

#include "queue/answers/service.h"

namespace smartmig {

struct HttpConnection {
  int fd = -1;
  Caller peer;  // of a Unix socket
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  bool receiving = true;  // no request of it is being answered
  bool cut = false, had_answer = false;
};

class HttpConnections {
 public:
  struct Options {
    bool peers = false;     // Unix: learn the user, limit the connections of each
    bool may_write = true;  // without TLS a refusal can be written to the socket as it is
    int max_connections = 512, max_of_peer = 128;
    double receive_s = 30;
  };
  explicit HttpConnections(const Options& options);
  ~HttpConnections();
  Result<Ok> start();  // once, before the first connection

  // Before one is accepted: a place is kept for it until add() or expected_in_vain(). False: all are taken.
  bool expect();
  void expected_in_vain();
  // Descriptors are short: cuts the one that has waited longest for its request, of whoever has most of those.
  // False: there is none.
  bool make_room();
  HttpConnection* add(int fd);              // one above the limit of its user is told 429 and shut down
  void remove(HttpConnection* connection);  // REQUIRES: before its descriptor is closed
  void answering(HttpConnection& connection);
  void answered(HttpConnection& connection);
  bool wait_until_answered(std::chrono::milliseconds most);  // all of them

 private:
  void watch();
  void cut_slow();
  void cut(HttpConnection& connection, std::string_view words);

  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<HttpConnection*> all_;
  std::map<std::uint32_t, int> of_uid_;
  int answering_ = 0, expected_ = 0;
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace smartmig
