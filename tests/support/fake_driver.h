// A machine in memory: boards of any catalogue model with the semantics of MIG (placements, compute instance before
// use, UUIDs that change on re-creation, refusal while a process runs), a clock of its own that moves by the measured
// seconds of each operation, watts from the power model, and faults on request. For tests of faults alone: `--emulate` is
// nvml-sim. With a file it survives the process, so that a crash half-way leaves what a real GPU would keep.
// Deterministic. Thread rule: any thread may call; calls take turns, except that one which hangs lets the others pass.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "live/gpu/driver.h"
#include "model/platform.h"

namespace smartmig {

class FakeDriver : public MigDriver {
 public:
  struct Options {
    std::string file;    // empty: memory only; else read if present and written after every step
    bool mig_on = true;  // of a new machine
    bool adopt = false, allow_mode_change = false;
    std::function<void(std::string_view)> after_step;  // "create gi", "create ci", "destroy ci", "destroy gi"
  };
  enum class Fault {
    kInUseLag,        // the next `count` destroys are refused for a moment
    kLeakedHandle,    // a process that runs nothing holds every slice open until cleared
    kCreateRefused,   // no GPU instance
    kComputeRefused,  // a GPU instance, no compute instance, and the clean-up works
    kLeftover,        // the same, and the clean-up fails: a GPU instance stays behind
    kLost,            // the board has fallen off the bus
    kHang,            // a call does not return until cleared
    kWrongReadBack    // reads show no instance
  };

  // "8xa100-40gb", mixed fleets too. An existing file must hold the same machine.
  static Result<std::unique_ptr<FakeDriver>> open(std::string_view spec, Options options);

  std::string name() const override { return "emulated"; }
  bool isolated() const override { return true; }
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

  // The world around the machine.
  void advance(Time by);  // time in which running processes draw power
  Result<Ok> start_process(GpuId gpu, PlacementId where, DeviceProcess process);
  void end_process(std::uint32_t pid);
  Result<Ok> create_foreign(GpuId gpu, PlacementId where);  // as nvidia-smi by hand would
  void reset(GpuId gpu);  // as nvidia-smi --gpu-reset: its slices are gone, and it answers again
  void inject(Fault fault, GpuId gpu, int count = 1 << 30);
  void clear_faults();
  Time now() const;

  std::uint32_t only_uid = 0;     // not 0: another user's jobs are kept out, as by MPS
  std::optional<Error> unlisted;  // instead of lists of processes

 private:
  struct Gpu {
    std::shared_ptr<const GpuModel> model;
    PowerModel power;
    std::string uuid;
    bool mig_on = true;
    double joules = 0;
    std::vector<Instance> instances;
    std::vector<DeviceProcess> processes;
    int faults[8] = {};  // by Fault: how many times it will still strike
  };
  explicit FakeDriver(Options options) : options_(std::move(options)) {}
  using Lock = std::unique_lock<std::mutex>;
  bool strikes(Gpu& gpu, Fault fault);
  Result<Gpu*> reach(Lock& lock, GpuId gpu);  // refuses a lost board, waits in a hung one
  Result<GpuBoard> see(Lock& lock, GpuId gpu);
  void pass(Time by);
  Result<Ok> step(std::string_view what);
  GpuBoard board_of(const Gpu& gpu, std::size_t index) const;
  std::string new_uuid();
  double watts(const Gpu& gpu) const;
  Result<Instance> make(Gpu& gpu, PlacementId where, bool ours);
  std::string save() const;
  Result<Ok> load(std::string_view text);

  Options options_;
  std::string spec_;
  std::vector<Gpu> gpus_;
  Time now_{};
  std::uint64_t made_ = 0;
  mutable std::mutex mutex_;  // of all that changes
  std::condition_variable hang_over_;
};

}  // namespace smartmig
