#include "cluster/task_lanes.h"

#include <algorithm>
#include <utility>

namespace smartmig {

TaskLanes::TaskLanes() : TaskLanes(Limits{}) {}
TaskLanes::TaskLanes(Limits limits) : limits_(limits) {}

void TaskLanes::make_ready(Lane& lane) { (doubted_.contains(lane.party) ? ready_doubtful_ : ready_).push_back(&lane); }

std::size_t TaskLanes::beginnable() const {
  return ready_.size() + std::min(ready_doubtful_.size(), limits_.doubtful - running_doubtful_);
}

// A thread for each lane whose turn it is, `free` of which look by themselves.
void TaskLanes::call_threads(std::size_t free) {
  const std::size_t wanted = beginnable();
  if (wanted > idle_ + free && threads_.size() < limits_.threads && !stop_) {
    ++idle_;
    threads_.emplace_back([this] { run(); });
  } else if (wanted > free) {
    wake_.notify_one();
  }
}

TaskLanes::Lane* TaskLanes::take(bool& doubtful) {
  for (;;) {
    doubtful = !ready_doubtful_.empty() && running_doubtful_ < limits_.doubtful;
    std::deque<Lane*>& from = doubtful ? ready_doubtful_ : ready_;
    if (from.empty()) return nullptr;
    Lane* lane = from.front();
    from.pop_front();
    if (doubtful || !doubted_.contains(lane->party)) return lane;
    ready_doubtful_.push_back(lane);  // its party has fallen silent since it was queued
  }
}

void TaskLanes::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || beginnable() > 0; });
    if (stop_) return;
    bool doubtful = false;
    Lane* lane = take(doubtful);
    if (!lane) continue;
    --idle_;
    const Task task = std::move(lane->tasks.front());
    lane->tasks.pop_front();
    ++running_;
    running_doubtful_ += doubtful;
    lock.unlock();
    const bool answered = task();
    lock.lock();
    --running_;
    running_doubtful_ -= doubtful;
    if (answered)
      doubted_.erase(lane->party);
    else
      doubted_.insert(lane->party);
    if (!lane->tasks.empty())
      make_ready(*lane);
    else
      lanes_.erase(lanes_.find(lane->name));
    if (stop_) ended_.notify_all();
    call_threads(1);  // this one takes one; another may begin where this one counted among the doubtful
    ++idle_;
  }
}

void TaskLanes::post(const std::string& name, const std::string& party, Task task) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Lane>& lane = lanes_[name];
  const bool fresh = !lane;
  if (fresh) lane = std::make_unique<Lane>(Lane{name, party, {}});
  lane->tasks.push_back(std::move(task));
  if (!fresh) return;  // it waits for its turn, or one of its tasks runs
  make_ready(*lane);
  call_threads(0);
}

std::size_t TaskLanes::threads() {
  const std::lock_guard lock(mutex_);
  return threads_.size();
}

std::size_t TaskLanes::waiting() {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [name, lane] : lanes_) count += lane->tasks.size();
  return count;
}

TaskLanes::~TaskLanes() {
  {
    std::unique_lock lock(mutex_);
    stop_ = true;
    wake_.notify_all();
    ended_.wait_for(lock, limits_.grace, [this] { return running_ == 0; });
    given_up_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace smartmig
