// A driver with a limit on every call, each GPU on a thread of its own. NVML calls can hang (a wedged GPU, a dying
// board) and nothing can interrupt them; here the caller gets kTimeout, and until the call returns, every further call
// for that GPU is answered within a second with the name of the call that hangs. Other GPUs are not affected.
// processes() and environment() have threads of their own, since they must not wait for a change of the GPU; a list of
// processes that takes longer than kListLimit counts as missing. Threads start with the first call that needs them.
// Limits are in the host's time, also on a virtual clock. Thread rule: any thread may call; calls for one GPU run one
// after another.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "base/units.h"
#include "live/gpu/driver.h"
#include "live/live_clock.h"

namespace smartmig {

class WatchedDriver : public MigDriver {
 public:
  static constexpr Time kListLimit{5'000'000};  // a start waits for the list
  // With a clock, its threads are workers on it and a caller does not hold it while it waits.
  WatchedDriver(std::shared_ptr<MigDriver> inner, Time limit, std::shared_ptr<LiveClock> clock = nullptr);
  ~WatchedDriver() override;  // a call that hangs keeps the inner driver alive until it returns

  std::string name() const override;
  std::string version() const override { return inner_->version(); }
  bool isolated() const override;
  Result<std::vector<GpuBoard>> inventory() override;  // after the first one: of each GPU that answers
  Result<GpuBoard> read(GpuId gpu) override;
  Result<Instance> create(GpuId gpu, PlacementId where) override;
  Result<Ok> destroy(GpuId gpu, const Instance& instance) override;
  Result<Instance> divide(GpuId gpu, const Instance& instance, const std::vector<int>& slices) override;
  Result<Ok> set_mig_mode(GpuId gpu, bool on) override;
  Result<Ok> set_control(GpuId gpu, bool on) override { return inner_->set_control(gpu, on); }  // asks no GPU
  Result<double> energy(GpuId gpu) override;
  Result<double> power(GpuId gpu) override;
  Result<std::vector<DeviceProcess>> processes(GpuId gpu) override;
  Result<Ok> health(GpuId gpu) override;
  Result<Environment> environment(GpuId gpu, const Instance& instance, std::uint32_t uid) override;
  std::vector<std::string> device_nodes(GpuId gpu, const Instance& instance) override {
    return inner_->device_nodes(gpu, instance);  // asks no GPU
  }

 private:
  struct Worker;
  struct Task;
  struct Lane {
    enum Use : std::uint8_t { kMachine, kGpu, kProcesses, kEnvironment } use;
    std::uint32_t gpu;
    auto operator<=>(const Lane&) const = default;
  };
  Result<std::shared_ptr<Worker>> worker(Lane lane);
  template <class T, class Call>
  Result<T> run(Lane lane, std::string what, Call call);
  template <class T, class Call>
  Result<T> run(GpuId gpu, std::string what, Call call) {
    return run<T>(Lane{Lane::kGpu, index(gpu)}, std::move(what), std::move(call));
  }

  std::shared_ptr<MigDriver> inner_;
  Time limit_;
  std::shared_ptr<LiveClock> clock_;
  std::mutex mutex_;  // of what follows
  std::map<Lane, std::shared_ptr<Worker>> workers_;
  std::vector<GpuBoard> boards_;  // of the first inventory
};

}  // namespace smartmig
