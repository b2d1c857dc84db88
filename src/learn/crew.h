// A few threads that share out numbered pieces of work. Which thread does which piece is open; so pieces must not
// depend on each other, and results are stored by piece: then they do not depend on the number of threads.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace smartmig {

class Crew {
 public:
  explicit Crew(int threads);  // the caller is one of them
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int threads() const { return int(others_.size()) + 1; }
  // work(piece, thread) for every piece in [0, count); returns when all are done.
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
