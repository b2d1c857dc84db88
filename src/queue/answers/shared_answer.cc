#include "queue/answers/shared_answer.h"

namespace smartmig {

Result<SharedAnswer::Json> SharedAnswer::get(const std::string& question, const std::string& state,
                                             const std::function<Result<Json>()>& make) {
  std::unique_lock lock(mutex_);
  Entry& entry = entries_[question];
  if (entry.busy) {
    const std::uint64_t made = entry.made;
    changed_.wait(lock, [&] { return entry.made != made; });
    return entry.answer;
  }
  if (entry.made > 0 && entry.answer && entry.state == state && Clock::now() - entry.at < kept_) return entry.answer;
  entry.busy = true;
  lock.unlock();
  Result<Json> answer = make();
  lock.lock();
  entry.answer = std::move(answer);
  entry.state = state;
  entry.at = Clock::now();
  entry.busy = false;
  ++entry.made;
  changed_.notify_all();
  return entry.answer;
}

}  // namespace smartmig
