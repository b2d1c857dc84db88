// A few threads that take tasks in order, of slow tasks at most half as many at once as there are threads. Thread rule:
// any thread adds; stop() once.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace smartmig {

class WorkQueue {
 public:
  explicit WorkQueue(int threads) : most_slow_(std::max(1, threads / 2)) {
    for (int i = 0; i < std::max(1, threads); ++i) threads_.emplace_back([this] { work(); });
  }
  ~WorkQueue() { stop(); }

  // False: `most` tasks wait already, or it was stopped; the task will not run.
  bool add(std::function<void()> task, bool slow, std::size_t most) {
    const std::scoped_lock lock(mutex_);
    auto& queue = slow ? slow_ : fast_;
    if (stopping_ || queue.size() >= most) return false;
    queue.push_back(std::move(task));
    changed_.notify_one();
    return true;
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
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      const bool slow = fast_.empty() && !slow_.empty() && running_slow_ < most_slow_;
      if (fast_.empty() && !slow) {
        if (stopping_ && slow_.empty()) return;
        changed_.wait(lock);
        continue;
      }
      auto& queue = slow ? slow_ : fast_;
      auto task = std::move(queue.front());
      queue.pop_front();
      running_slow_ += slow;
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
      running_slow_ -= slow;
      if (slow) changed_.notify_all();
    }
  }

  const int most_slow_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> fast_, slow_;
  int running_slow_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace smartmig
