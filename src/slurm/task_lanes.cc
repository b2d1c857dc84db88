#include "slurm/task_lanes.h"

namespace smartmig {

void TaskLanes::Lane::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    wake.wait(lock, [this] { return stop || !tasks.empty(); });
    if (stop) return;
    const std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

void TaskLanes::post(const std::string& name, std::function<void()> task) {
  std::unique_ptr<Lane>& lane = lanes_[name];
  if (!lane) {
    lane = std::make_unique<Lane>();
    lane->thread = std::thread([one = lane.get()] { one->run(); });
  }
  const std::lock_guard lock(lane->mutex);
  lane->tasks.push_back(std::move(task));
  lane->wake.notify_one();
}

TaskLanes::~TaskLanes() {
  for (auto& [name, lane] : lanes_) {
    const std::lock_guard lock(lane->mutex);
    lane->stop = true;
    lane->wake.notify_one();
  }
  for (auto& [name, lane] : lanes_) lane->thread.join();
}

}  // namespace smartmig
