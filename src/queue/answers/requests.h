// Requests of other threads, answered by the owner's step. A step carries out the requests it takes before its commit
// and answers them after it, so every answer is about stored state. A commit wakes the threads that wait for new
// journal lines. Thread rule: ask(), wait_for_news() and stop() from any thread, the rest the owner's.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "live/live_clock.h"

namespace smartmig {

class Requests {
 public:
  explicit Requests(LiveClock& clock) : clock_(clock) {}

  // Runs `work` on the owner thread within a step and returns once what it changed is stored. Where it `changes`
  // something: kIo when that cannot be stored.
  template <class T>
  Result<T> ask(std::function<Result<T>()> work, bool changes);
  // Waits until the journal holds more than `position`, or the time is over, or the daemon goes down (false).
  bool wait_for_news(std::uint64_t position, double seconds) const;
  void stop();
  bool stopping() const { return stopping_; }

  // All that wait. What `changes` something is asked for before: an error of it is the answer, and nothing was done.
  void carry_out(const std::function<Result<Ok>()>& can_change = {});
  void answer(const Error* not_stored);  // what was carried out; null: it is stored
  void stored(std::uint64_t journal_position);
  void close();  // after the last step: who asked too late is told that the daemon goes down

 private:
  using Answer = std::function<void(const Error*)>;
  struct Request {
    std::function<void(const Error* refused)> work;
    Answer answer;
    bool changes = false;
  };
  bool add(Request request);  // false: the daemon goes down

  LiveClock& clock_;
  std::mutex mutex_;
  std::deque<Request> waiting_;  // guarded
  std::vector<Answer> answers_;  // of what was carried out
  std::atomic<bool> stopping_{false};
  mutable std::mutex news_mutex_;
  mutable std::condition_variable news_;
  std::uint64_t stored_position_ = 0;  // guarded by news_mutex_
};

Error going_down();

template <class T>
Result<T> Requests::ask(std::function<Result<T>()> work, bool changes) {
  auto result = std::make_shared<std::optional<Result<T>>>();
  std::promise<void> done;
  auto answered = done.get_future();
  const bool added =
      add({[result, work = std::move(work)](const Error* refused) { *result = refused ? Result<T>(*refused) : work(); },
           [result, changes, &done](const Error* failed) {
             if (!result->has_value() || (failed && changes && **result))
               *result = Result<T>(failed ? *failed : going_down());
             done.set_value();
           },
           changes});
  if (!added) return going_down();
  answered.wait();
  return std::move(**result);
}

}  // namespace smartmig
