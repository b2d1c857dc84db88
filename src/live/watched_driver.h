// A driver on a thread of its own with a limit on every call. NVML calls can hang (a wedged GPU, a dying board) and
// nothing can interrupt them; here the caller gets kTimeout, and until the call returns every further one is answered
// at once with the name of the call that hangs. Why a thread: one thread owns NVML, others must not wait with it.
// Thread rule: any thread may call; calls run one after another on the driver's thread.
#pragma once
#include <memory>

#include "base/units.h"
#include "live/driver.h"

namespace smartmig {

class WatchedDriver : public MigDriver {
 public:
  WatchedDriver(std::shared_ptr<MigDriver> inner, Time limit);
  ~WatchedDriver() override;  // a call that hangs keeps the inner driver alive until it returns

  std::string name() const override;
  bool isolated() const override;
  Result<std::vector<GpuBoard>> inventory() override;
  Result<GpuBoard> read(GpuId gpu) override;
  Result<Instance> create(GpuId gpu, PlacementId where) override;
  Result<Ok> destroy(GpuId gpu, const Instance& instance) override;
  Result<Ok> set_mig_mode(GpuId gpu, bool on) override;
  Result<double> energy(GpuId gpu) override;
  Result<double> power(GpuId gpu) override;
  Result<std::vector<DeviceProcess>> processes(GpuId gpu) override;
  Result<Ok> health(GpuId gpu) override;
  Result<Environment> environment(GpuId gpu, const Instance& instance, std::uint32_t uid) override;

 private:
  struct Worker;
  template <class T, class Call>
  Result<T> run(std::string what, Call call);
  std::shared_ptr<Worker> worker_;
  Time limit_;
};

}  // namespace smartmig
