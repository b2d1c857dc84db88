// Runs an operator's program for each job that ended, with the job's JSON on its standard input, one after another on a
// thread of its own. A program that takes too long (10 s) is ended; when more than 1,000 wait, or there is no thread
// for them, the newest is dropped and counted: hooks never hold up the queue. Thread rule: run() from any thread.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/thread.h"
#include "live/jobs/run_program.h"

namespace smartmig {

class HookQueue {
 public:
  ~HookQueue() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  void run(const std::string& program, std::string input) {
    std::lock_guard lock(mutex_);
    if (waiting_.size() >= 1000 || !has_thread()) {
      ++dropped_;
      return;
    }
    waiting_.push_back({{program}, {}, std::move(input), false, Time(10'000'000)});
    wake_.notify_one();
  }
  std::uint64_t failed() const {
    std::lock_guard lock(mutex_);
    return failed_ + dropped_;
  }

 private:
  bool has_thread() {
    if (thread_.joinable()) return true;
    auto thread = start_thread("hooks", [this] { work(); });
    if (thread) thread_ = std::move(*thread);
    return bool(thread);
  }
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
      if (stop_) return;
      const ProgramRun next = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      const auto ran = run_program(next);
      lock.lock();
      failed_ += !ran || ran->status != 0;
    }
  }
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<ProgramRun> waiting_;
  std::uint64_t failed_ = 0, dropped_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace smartmig
