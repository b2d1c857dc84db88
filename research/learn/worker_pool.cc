#include "research/learn/worker_pool.h"

namespace smartmig {

WorkerPool::WorkerPool(int threads) {
  for (int t = 1; t < threads; ++t) others_.emplace_back([this, t] { serve(t); });
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  begin_.notify_all();
  for (std::thread& thread : others_) thread.join();
}

void WorkerPool::pull(int thread) {
  for (std::size_t piece; (piece = next_.fetch_add(1)) < count_;) (*work_)(piece, thread);
}

void WorkerPool::serve(int thread) {
  for (std::uint64_t seen = 0;;) {
    {
      std::unique_lock lock(mutex_);
      begin_.wait(lock, [&] { return quit_ || round_ != seen; });
      if (quit_) return;
      seen = round_;
    }
    pull(thread);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) end_.notify_one();
  }
}

void WorkerPool::run(std::size_t count, const std::function<void(std::size_t, int)>& work) {
  if (others_.empty() || count <= 1) {
    for (std::size_t piece = 0; piece < count; ++piece) work(piece, 0);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    count_ = count;
    next_ = 0;
    busy_ = int(others_.size());
    ++round_;
  }
  begin_.notify_all();
  pull(0);
  std::unique_lock lock(mutex_);
  end_.wait(lock, [&] { return busy_ == 0; });
}

}  // namespace smartmig
