// A few threads that take the tasks of users by turns, so that a user waits for at most one task of each other user.
// Slow tasks never take more than half of the threads, those of one user never more than half of that half; one user's
// tasks of both kinds leave a quarter of the threads to others. Thread rule: any thread adds; stop() once.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/thread.h"

namespace smartmig {

class WorkQueue {
 public:
  explicit WorkQueue(int threads) : all_(std::max(1, threads)) {
    const int all = all_;
    most_slow_ = std::max(1, all / 2);
    most_slow_of_one_ = std::max(1, most_slow_ / 2);
    // Beside a slow task of theirs a user has a thread for the next quick one, also where there are two in all.
    most_of_one_ = std::max(std::min(all, most_slow_of_one_ + 1), all - std::max(1, all / 4));
  }
  ~WorkQueue() { stop(); }

  // Once. An error: not all threads can be had; what is added is done by those that can, if any.
  Result<Ok> start() {
    for (int i = 0; i < all_; ++i) {
      SMARTMIG_TRY(std::thread thread, start_thread("requests", [this] { work(); }));
      threads_.push_back(std::move(thread));
    }
    return Ok{};
  }

  enum class Taken : std::uint8_t { kYes, kFull, kStopped };
  // `owner`: whose task it is. kFull: `most` tasks of its kind wait already; where it is not taken it will not run.
  Taken add(std::function<void()> task, std::uint64_t owner, bool slow, std::size_t most) {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return Taken::kStopped;
    if (waiting_[slow] >= most) return Taken::kFull;
    users_[owner].tasks[slow].push_back(std::move(task));
    ++waiting_[slow];
    changed_.notify_one();
    return Taken::kYes;
  }

  void stop() {  // what was added is done first
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    for (auto& t : threads_) t.join();
    threads_.clear();
  }

 private:
  struct User {
    std::deque<std::function<void()>> tasks[2];  // by `slow`
    int running[2] = {};
    bool idle() const { return tasks[0].empty() && tasks[1].empty() && running[0] + running[1] == 0; }
  };
  using Users = std::map<std::uint64_t, User>;

  bool may_run(const User& user, bool slow) const {
    if (user.tasks[slow].empty() || user.running[0] + user.running[1] >= most_of_one_) return false;
    return !slow || (running_slow_ < most_slow_ && user.running[1] < most_slow_of_one_);
  }
  // The next user after the one that was served last.
  Users::iterator next(bool slow) {
    if (waiting_[slow] == 0) return users_.end();
    auto at = users_.upper_bound(served_);
    for (std::size_t i = 0; i < users_.size(); ++i, ++at) {
      if (at == users_.end()) at = users_.begin();
      if (may_run(at->second, slow)) return at;
    }
    return users_.end();
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      bool slow = false;
      auto at = next(slow);
      if (at == users_.end()) at = next(slow = true);
      if (at == users_.end()) {
        if (stopping_ && waiting_[0] + waiting_[1] == 0) return;
        changed_.wait(lock);
        continue;
      }
      const std::uint64_t owner = served_ = at->first;
      User& user = at->second;  // stays where it is while something of it runs
      auto task = std::move(user.tasks[slow].front());
      user.tasks[slow].pop_front();
      --waiting_[slow];
      ++user.running[slow];
      running_slow_ += slow;
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
      running_slow_ -= slow;
      --user.running[slow];
      if (user.idle()) users_.erase(owner);
      if (waiting_[0] + waiting_[1] > 0 || stopping_) changed_.notify_all();
    }
  }

  const int all_;
  int most_slow_ = 1, most_slow_of_one_ = 1, most_of_one_ = 1;
  std::mutex mutex_;
  std::condition_variable changed_;
  Users users_;  // with tasks that wait or run
  std::uint64_t served_ = 0;
  std::size_t waiting_[2] = {};
  int running_slow_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace smartmig
