// MIG through NVML. Placements are always named, so no order of creation matters; every change is read back; IN_USE is
// retried with growing pauses (a slice stays in use for a moment after its last process) and then answered with the
// names of whoever holds the device. A GPU instance without a compute instance is removed, at once or when the driver
// is opened next. A driver opened for reading locks and changes nothing; one opened for control takes the lock of every
// GPU, or of the one that Options::only names. It never resets a GPU; MIG mode and foreign instances are touched only
// with allow_mode_change and adopt. A board that did not answer when the driver was opened is tried again at every
// request for it. health() also reports Xids and memory errors since the last call, each once. Thread rule: as
// MigDriver; calls may take seconds, and one that hangs holds no lock that another GPU needs.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "base/units.h"
#include "live/gpu/controller_lock.h"
#include "live/gpu/driver.h"
#include "live/gpu/ledger.h"
#include "live/gpu/model_check.h"
#include "live/gpu/nvml_api.h"
#include "mig/catalog.h"

namespace smartmig {

class NvmlDriver : public MigDriver {
 public:
  struct Options {
    std::string name = "nvml";
    std::string library;    // empty: default_nvml_library()
    std::string state_dir;  // of the ledger; empty: nothing is remembered
    std::string lock_dir;   // empty: default_lock_directory()
    std::string proc_root = "/proc";
    bool control = false, adopt = false, allow_mode_change = false;
    std::string only;  // the one GPU to control, by index or UUID; empty: all
    Time first_pause = Time(20'000), longest_pause = Time(500'000), patience = Time(10'000'000);
    std::function<void(Time)> sleep;   // empty: the thread sleeps
    const Catalog* catalog = nullptr;  // null: the built-in one
  };
  static Result<std::unique_ptr<NvmlDriver>> open(Options options);
  ~NvmlDriver() override;

  std::string name() const override { return options_.name; }
  std::string version() const override { return driver_version_; }
  bool isolated() const override { return true; }
  Result<std::vector<GpuBoard>> inventory() override;
  Result<GpuBoard> read(GpuId gpu) override;
  Result<Instance> create(GpuId gpu, PlacementId where) override;
  Result<Ok> destroy(GpuId gpu, const Instance& instance) override;
  Result<Instance> divide(GpuId gpu, const Instance& instance, const std::vector<int>& slices) override;
  Result<Ok> set_mig_mode(GpuId gpu, bool on) override;
  Result<Ok> set_control(GpuId gpu, bool on) override;
  Result<double> energy(GpuId gpu) override;
  Result<double> power(GpuId gpu) override;
  Result<std::vector<DeviceProcess>> processes(GpuId gpu) override;
  Result<Ok> health(GpuId gpu) override;
  Result<Environment> environment(GpuId gpu, const Instance& instance, std::uint32_t uid) override;
  std::vector<std::string> device_nodes(GpuId gpu, const Instance& instance) override;

  const std::string& driver_version() const { return driver_version_; }
  const std::vector<std::string>& tidied() const { return tidied_; }  // what opening cleaned up, in words

 private:
  struct ComputeProfile {
    unsigned int id = 0, slices = 0, sms = 0;
  };
  struct Gpu {
    std::atomic<bool> found = false;  // what follows stays as it is; before that, only who holds `finding` touches it
    std::mutex finding;
    nvmlDevice_t handle = nullptr;
    GpuBoard fixed;  // what does not change while the program runs
    ControllerLock lock;
    std::atomic<bool> locked = false;
    std::vector<SeenProfile> seen;
    int minor = -1;
    std::map<int, std::vector<ComputeProfile>> compute_profiles;  // by NVML id of the GPU instance's profile
    nvmlEventSet_t events = nullptr;                              // null: not watched, or not to be had
    unsigned long long memory_errors = 0;                         // that health() has told of
  };
  explicit NvmlDriver(Options options) : options_(std::move(options)) {}
  Result<Ok> find_gpus();
  Result<Ok> find(Gpu& gpu);  // fails for a board that does not answer
  Result<Ok> find_later(Gpu& gpu);
  void watch(Gpu& gpu);
  std::string news(Gpu& gpu);  // Xids and memory errors since the last call; empty: none that harms the board
  Result<std::vector<SeenProfile>> see_profiles(nvmlDevice_t device, const std::string& title);
  Result<Ok> take_control();
  Result<Ok> lock(Gpu& gpu);
  bool wanted(const Gpu& gpu) const {  // to be controlled
    return options_.only.empty() || options_.only == gpu.fixed.uuid || options_.only == std::to_string(gpu.fixed.index);
  }
  Result<Ok> tidy(GpuId gpu);
  Result<Gpu*> reach(GpuId gpu);
  Result<Ok> require_control(const Gpu& gpu) const;
  Result<Ok> read_instances(Gpu& gpu, GpuBoard& board);
  Result<Instance> read_instance(Gpu& gpu, nvmlGpuInstance_t handle);
  Result<const std::vector<ComputeProfile>*> compute_profiles(Gpu& gpu, nvmlGpuInstance_t gi, int profile_id);
  Result<std::vector<nvmlComputeInstance_t>> compute_instances(Gpu& gpu, nvmlGpuInstance_t gi, int profile_id);
  Result<std::string> uuid_of(Gpu& gpu, const nvmlComputeInstanceInfo_t& info, unsigned int gi, nvmlDevice_t& mig);
  // Repeats `call` while it answers IN_USE, within the patience; then names the holder.
  Result<Ok> patiently(Gpu& gpu, const std::string& what, int gi, int ci, const std::function<nvmlReturn_t()>& call);
  // Where compute instances of these slices go on a GPU instance; without a place the driver chooses one.
  struct PlacedPart {
    unsigned int profile = 0;
    std::optional<nvmlComputeInstancePlacement_t> place;
  };
  Result<std::vector<PlacedPart>> place_parts(Gpu& gpu, nvmlGpuInstance_t gi, const Profile& profile,
                                              const std::vector<int>& sizes, const std::string& what);
  Result<Ok> make_parts(Gpu& gpu, nvmlGpuInstance_t gi, const std::vector<PlacedPart>& parts, const std::string& what);
  Result<Ok> remove_parts(Gpu& gpu, nvmlGpuInstance_t gi, int profile_id, int gi_id, const std::string& what);
  Result<Ok> make_compute_instance(Gpu& gpu, nvmlGpuInstance_t gi, PlacementId where);  // the one that spans it
  Result<Ok> remove(Gpu& gpu, nvmlGpuInstance_t gi, int profile_id, int gi_id, const std::string& what);
  void pause(Time t) const;

  Options options_;
  std::unique_ptr<NvmlApi> nvml_;
  Ledger ledger_;
  std::deque<Gpu> gpus_;
  std::mutex profiles_mutex_;  // of compute_profiles: what is in there stays, so pointers into it do
  std::string driver_version_;
  std::vector<std::string> tidied_;
};

}  // namespace smartmig
