// Replies that are made while they are sent. A worker makes the next piece, the library sends it; in between the
// connection is suspended, and a stream without news waits in a list. A thread, asleep while that list is empty, asks
// one of those that wait to wait for news, then has all of them try again; it also notices clients that have left. One
// user has a limited number of streams, and all callers without a token together at most half, so that there is room
// for others. Thread rule: full() and respond() on the library's thread, where streams end, too; stop() once, after the
// work queue was stopped.
#pragma once
#include <microhttpd.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "http/http_types.h"
#include "http/work_queue.h"

namespace smartmig {

class HttpStreams {
 public:
  HttpStreams(WorkQueue& queue, int most, int most_of_peer) : queue_(queue), most_(most), most_of_peer_(most_of_peer) {}
  ~HttpStreams() { stop_watching(); }

  Result<Ok> start();  // once, before the first stream
  // How many streams `owner` may have open; nothing: one more may be opened.
  std::optional<int> full(std::uint64_t owner, bool stranger) const;
  MHD_Response* respond(MHD_Connection* connection, int fd, std::uint64_t owner, std::unique_ptr<ReplyStream> source);
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
  const int most_, most_of_peer_;
  std::map<std::uint64_t, int> open_;  // streams of each owner; of the library's thread
  int open_in_all_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Shared> waiting_;
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace smartmig
