#include "live/watched_driver.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace smartmig {

struct WatchedDriver::Worker {
  std::shared_ptr<MigDriver> inner;
  std::mutex mutex;
  std::condition_variable wake, done;
  std::function<void(MigDriver&)> task;  // at most one
  std::string running;                   // what the task does; empty: idle
  bool stop = false, ended = false;
  std::thread thread;
};

WatchedDriver::WatchedDriver(std::shared_ptr<MigDriver> inner, Time limit)
    : worker_(std::make_shared<Worker>()), limit_(limit) {
  worker_->inner = std::move(inner);
  worker_->thread = std::thread([worker = worker_] {
    std::unique_lock lock(worker->mutex);
    for (;;) {
      worker->wake.wait(lock, [&] { return worker->task || worker->stop; });
      if (!worker->task) break;
      const auto task = std::exchange(worker->task, nullptr);
      lock.unlock();
      task(*worker->inner);
      lock.lock();
      worker->running.clear();
      worker->done.notify_all();
    }
    worker->ended = true;
  });
}

WatchedDriver::~WatchedDriver() {
  bool hangs;
  {
    std::lock_guard lock(worker_->mutex);
    worker_->stop = true;
    hangs = !worker_->running.empty();
  }
  worker_->wake.notify_all();
  if (hangs)
    worker_->thread.detach();
  else
    worker_->thread.join();
}

template <class T, class Call>
Result<T> WatchedDriver::run(std::string what, Call call) {
  const auto answer = std::make_shared<std::optional<Result<T>>>();  // outlives the caller if the call hangs
  std::unique_lock lock(worker_->mutex);
  const auto deadline = std::chrono::steady_clock::now() + limit_;
  if (!worker_->done.wait_until(lock, deadline, [&] { return worker_->running.empty(); }))
    return timeout_error("{}: not tried, since the driver still hangs in: {}; restart smartmig if it stays so", what,
                         worker_->running);
  worker_->running = what;
  worker_->task = [answer, call = std::move(call), worker = worker_.get()](MigDriver& driver) {
    Result<T> result = call(driver);
    std::lock_guard guard(worker->mutex);
    *answer = std::move(result);
  };
  worker_->wake.notify_one();
  if (!worker_->done.wait_until(lock, deadline, [&] { return answer->has_value(); }))
    return timeout_error("{}: no answer within {:.1f} s", what, seconds(limit_));
  return std::move(**answer);
}

std::string WatchedDriver::name() const { return worker_->inner->name(); }
bool WatchedDriver::isolated() const { return worker_->inner->isolated(); }

Result<std::vector<GpuBoard>> WatchedDriver::inventory() {
  return run<std::vector<GpuBoard>>("reading the inventory", [](MigDriver& d) { return d.inventory(); });
}
Result<GpuBoard> WatchedDriver::read(GpuId gpu) {
  return run<GpuBoard>(fmt::format("reading GPU {}", index(gpu)), [=](MigDriver& d) { return d.read(gpu); });
}
Result<Instance> WatchedDriver::create(GpuId gpu, PlacementId where) {
  return run<Instance>(fmt::format("creating an instance on GPU {}", index(gpu)),
                       [=](MigDriver& d) { return d.create(gpu, where); });
}
Result<Ok> WatchedDriver::destroy(GpuId gpu, const Instance& instance) {
  return run<Ok>(fmt::format("destroying GPU instance {} on GPU {}", instance.gpu_instance, index(gpu)),
                 [=](MigDriver& d) { return d.destroy(gpu, instance); });
}
Result<Ok> WatchedDriver::set_mig_mode(GpuId gpu, bool on) {
  return run<Ok>(fmt::format("changing the MIG mode of GPU {}", index(gpu)),
                 [=](MigDriver& d) { return d.set_mig_mode(gpu, on); });
}
Result<double> WatchedDriver::energy(GpuId gpu) {
  return run<double>(fmt::format("reading the energy of GPU {}", index(gpu)),
                     [=](MigDriver& d) { return d.energy(gpu); });
}
Result<double> WatchedDriver::power(GpuId gpu) {
  return run<double>(fmt::format("reading the power of GPU {}", index(gpu)),
                     [=](MigDriver& d) { return d.power(gpu); });
}
Result<std::vector<DeviceProcess>> WatchedDriver::processes(GpuId gpu) {
  return run<std::vector<DeviceProcess>>(fmt::format("listing the processes of GPU {}", index(gpu)),
                                         [=](MigDriver& d) { return d.processes(gpu); });
}
Result<Ok> WatchedDriver::health(GpuId gpu) {
  return run<Ok>(fmt::format("checking GPU {}", index(gpu)), [=](MigDriver& d) { return d.health(gpu); });
}
Result<Environment> WatchedDriver::environment(GpuId gpu, const Instance& instance, std::uint32_t uid) {
  return run<Environment>(fmt::format("preparing a child for GPU {}", index(gpu)),
                          [=](MigDriver& d) { return d.environment(gpu, instance, uid); });
}

}  // namespace smartmig
