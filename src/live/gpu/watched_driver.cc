#include "live/gpu/watched_driver.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <optional>
#include <thread>

#include "base/thread.h"

namespace smartmig {
namespace {
constexpr Time kPatience{1'000'000};  // with a thread that hangs: it may be about to come back
}

struct WatchedDriver::Task {
  std::string what;
  std::function<void(MigDriver&)> call;
  LiveClock::Worker caller;
  bool done = false, abandoned = false;
};

struct WatchedDriver::Worker {
  std::shared_ptr<MigDriver> inner;
  std::shared_ptr<LiveClock> clock;  // never null
  std::mutex mutex;
  std::condition_variable wake, done;
  std::deque<std::shared_ptr<Task>> tasks;
  std::shared_ptr<Task> running;
  bool joined = false, idle = false, stop = false;
  LiveClock::Worker self{};
  std::thread thread;

  void loop() {
    clock->worker_joins();
    std::unique_lock lock(mutex);
    self = clock->this_worker();
    joined = true;
    done.notify_all();
    for (;;) {
      if (tasks.empty() && !stop) {
        idle = true;
        clock->worker_idle();
        wake.wait(lock, [&] { return !tasks.empty() || stop; });
        idle = false;
      }
      if (tasks.empty()) break;
      running = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      running->call(*inner);
      lock.lock();
      running->done = true;
      if (!running->abandoned) clock->worker_busy(running->caller);
      running.reset();
      done.notify_all();
    }
    clock->worker_leaves();
  }
};

WatchedDriver::WatchedDriver(std::shared_ptr<MigDriver> inner, Time limit, std::shared_ptr<LiveClock> clock)
    : inner_(std::move(inner)), limit_(limit), clock_(clock ? std::move(clock) : std::make_shared<RealClock>()) {}

WatchedDriver::~WatchedDriver() {
  for (auto& [lane, worker] : workers_) {
    bool hangs;
    {
      std::lock_guard lock(worker->mutex);
      worker->stop = true;
      hangs = worker->running != nullptr;
      if (worker->idle) clock_->worker_busy(worker->self);
    }
    worker->wake.notify_all();
    if (hangs)
      worker->thread.detach();
    else
      worker->thread.join();
  }
}

Result<std::shared_ptr<WatchedDriver::Worker>> WatchedDriver::worker(Lane lane) {
  const std::lock_guard guard(mutex_);
  if (const auto at = workers_.find(lane); at != workers_.end()) return at->second;
  auto worker = std::make_shared<Worker>();
  worker->inner = inner_;
  worker->clock = clock_;
  SMARTMIG_TRY(worker->thread, start_thread("calls of a GPU's driver", [worker] { worker->loop(); }));
  workers_[lane] = worker;
  std::unique_lock lock(worker->mutex);
  worker->done.wait(lock, [&] { return worker->joined; });
  return worker;
}

template <class T, class Call>
Result<T> WatchedDriver::run(Lane lane, std::string what, Call call) {
  const auto answer = std::make_shared<std::optional<Result<T>>>();  // outlives the caller if the call hangs
  SMARTMIG_TRY(const std::shared_ptr<Worker> worker, this->worker(lane));
  const auto task = std::make_shared<Task>();
  task->what = std::move(what);
  task->caller = clock_->this_worker();
  task->call = [answer, call = std::move(call)](MigDriver& driver) { answer->emplace(call(driver)); };
  const auto hangs = [&] {
    return timeout_error(
        "{}: not tried, because the driver has not returned from: {}; restart smartmig if this persists", task->what,
        worker->running ? worker->running->what : "an earlier call");
  };
  std::unique_lock lock(worker->mutex);
  const bool hung = worker->running && worker->running->abandoned;
  const Time limit = lane.use == Lane::kProcesses ? std::min(limit_, kListLimit) : limit_;
  const auto deadline = std::chrono::steady_clock::now() + (hung ? std::min(limit, kPatience) : limit);
  worker->tasks.push_back(task);
  if (worker->idle) clock_->worker_busy(worker->self);
  worker->wake.notify_one();
  clock_->worker_idle();
  if (worker->done.wait_until(lock, deadline, [&] { return task->done; })) return std::move(**answer);
  clock_->worker_busy(task->caller);
  task->abandoned = true;
  if (std::erase(worker->tasks, task) > 0) return hangs();
  return timeout_error("{}: no answer within {:.1f} s", task->what, seconds(limit));
}

std::string WatchedDriver::name() const { return inner_->name(); }
bool WatchedDriver::isolated() const { return inner_->isolated(); }

Result<std::vector<GpuBoard>> WatchedDriver::inventory() {
  std::vector<GpuBoard> boards;
  {
    const std::lock_guard lock(mutex_);
    boards = boards_;
  }
  if (boards.empty()) {
    SMARTMIG_TRY(boards, run<std::vector<GpuBoard>>(Lane{Lane::kMachine, 0}, "reading the inventory",
                                                    [](MigDriver& d) { return d.inventory(); }));
    const std::lock_guard lock(mutex_);
    boards_ = boards;
    return boards;
  }
  for (GpuBoard& board : boards) {
    auto seen = read(GpuId{std::uint32_t(board.index)});
    if (seen) {
      board = std::move(*seen);
    } else {
      board.instances.clear();
      board.layout = Layout{};
      board.trouble = seen.error().what;
    }
  }
  return boards;
}
Result<GpuBoard> WatchedDriver::read(GpuId gpu) {
  return run<GpuBoard>(gpu, fmt::format("reading GPU {}", index(gpu)), [=](MigDriver& d) { return d.read(gpu); });
}
Result<Instance> WatchedDriver::create(GpuId gpu, PlacementId where) {
  return run<Instance>(gpu, fmt::format("creating an instance on GPU {}", index(gpu)),
                       [=](MigDriver& d) { return d.create(gpu, where); });
}
Result<Ok> WatchedDriver::destroy(GpuId gpu, const Instance& instance) {
  return run<Ok>(gpu, fmt::format("destroying GPU instance {} on GPU {}", instance.gpu_instance, index(gpu)),
                 [=](MigDriver& d) { return d.destroy(gpu, instance); });
}
Result<Instance> WatchedDriver::divide(GpuId gpu, const Instance& instance, const std::vector<int>& slices) {
  return run<Instance>(gpu, fmt::format("dividing GPU instance {} on GPU {}", instance.gpu_instance, index(gpu)),
                       [=](MigDriver& d) { return d.divide(gpu, instance, slices); });
}
Result<Ok> WatchedDriver::set_mig_mode(GpuId gpu, bool on) {
  return run<Ok>(gpu, fmt::format("changing the MIG mode of GPU {}", index(gpu)),
                 [=](MigDriver& d) { return d.set_mig_mode(gpu, on); });
}
Result<double> WatchedDriver::energy(GpuId gpu) {
  return run<double>(gpu, fmt::format("reading the energy of GPU {}", index(gpu)),
                     [=](MigDriver& d) { return d.energy(gpu); });
}
Result<double> WatchedDriver::power(GpuId gpu) {
  return run<double>(gpu, fmt::format("reading the power of GPU {}", index(gpu)),
                     [=](MigDriver& d) { return d.power(gpu); });
}
Result<std::vector<DeviceProcess>> WatchedDriver::processes(GpuId gpu) {
  return run<std::vector<DeviceProcess>>(Lane{Lane::kProcesses, index(gpu)},
                                         fmt::format("listing the processes of GPU {}", index(gpu)),
                                         [=](MigDriver& d) { return d.processes(gpu); });
}
Result<Ok> WatchedDriver::health(GpuId gpu) {
  return run<Ok>(gpu, fmt::format("checking GPU {}", index(gpu)), [=](MigDriver& d) { return d.health(gpu); });
}
Result<Environment> WatchedDriver::environment(GpuId gpu, const Instance& instance, std::uint32_t uid) {
  return run<Environment>(Lane{Lane::kEnvironment, index(gpu)}, fmt::format("preparing a child for GPU {}", index(gpu)),
                          [=](MigDriver& d) { return d.environment(gpu, instance, uid); });
}

}  // namespace smartmig
