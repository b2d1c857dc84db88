// Replies that are made while they are sent. A worker makes the next piece, the library sends it; in between the
// connection is suspended, and a stream without news waits in a list. A thread, asleep while that list is empty, asks
// one of those that wait to wait for news, then has all of them try again; it also notices clients that have left.
// Thread rule: respond() on the library's thread; stop() once, after the work queue was stopped.
#pragma once
#include <microhttpd.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "serve/http/http_types.h"
#include "serve/http/work_queue.h"

namespace smartmig {

class HttpStreams {
 public:
  HttpStreams(WorkQueue& queue, int most) : queue_(queue), most_(most), watcher_([this] { watch(); }) {}
  ~HttpStreams() { stop_watching(); }

  MHD_Response* respond(MHD_Connection* connection, int fd, std::unique_ptr<ReplyStream> source);  // null: too many
  void stop_watching();
  void end_waiting();  // REQUIRES: the queue was stopped

 private:
  struct Stream;
  struct Holder;
  using Shared = std::shared_ptr<Stream>;
  static ssize_t on_piece(void* holder, std::uint64_t, char* buffer, std::size_t room);
  static void on_end(void* holder);
  void next_piece(const Shared& stream);
  void try_again(const Shared& stream);
  void watch();

  WorkQueue& queue_;
  const int most_;
  std::atomic<int> open_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Shared> waiting_;
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace smartmig
