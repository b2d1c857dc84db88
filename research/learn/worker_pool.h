// A pool of threads that shares out numbered pieces of work. Any thread may do any piece, so pieces must not depend on
// each other, and callers store results by piece, never by thread. Then results do not depend on the number of threads.
// Only the thread that made the pool may call run().
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace smartmig {

class WorkerPool {
 public:
  explicit WorkerPool(int threads);  // includes the caller
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const { return int(others_.size()) + 1; }
  // Calls work(piece, thread) for every piece in [0, count); returns when all are done.
  void run(std::size_t count, const std::function<void(std::size_t piece, int thread)>& work);

 private:
  void serve(int thread);
  void pull(int thread);

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void(std::size_t, int)>* work_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
  std::uint64_t round_ = 0;
  int busy_ = 0;
  bool quit_ = false;
  std::vector<std::thread> others_;
};

}  // namespace smartmig
