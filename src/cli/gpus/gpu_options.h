// What the verbs that look at GPUs share: which machine (real, soft slices by MPS, or emulated), where its state lies,
// and which configuration is meant. Environment: SMARTMIG_* for every option, MIG_PARTED_CONFIG_FILE and
// MIG_PARTED_SELECTED_CONFIG as mig-parted has them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "live/emulation/fake_driver.h"
#include "live/gpu/controller_lock.h"
#include "live/gpu/desired.h"
#include "live/gpu/driver.h"

namespace smartmig::cli {

struct GpuOptions {
  std::string emulate, state, driver = "nvml", nvml, like, busy;
  bool json = false, adopt = false, allow_mode_change = false;
  double patience_s = 10;

  void declare(Command& cmd, bool changes);
};

struct ConfigOptions {
  std::string file, label, to, gpus;
  ConfigOptions();  // reads mig-parted's environment
  void declare(Command& cmd, bool direct);
};

// A machine and, where it was emulated in memory, the temporary directory that stands in for its state.
class Machine {
 public:
  static Result<Machine> open(const GpuOptions& options, bool control);
  Machine(Machine&&) noexcept = default;
  ~Machine();
  MigDriver& driver() { return *driver_; }
  const std::string& state_dir() const { return state_dir_; }

 private:
  Machine() = default;
  std::shared_ptr<MigDriver> driver_;
  std::string state_dir_;
  std::string temporary_;  // removed at the end
  ControllerLock lock_;    // of an emulated machine; NvmlDriver has its own
};

// Everything a plan needs, read once.
struct Situation {
  std::vector<GpuBoard> boards;
  std::vector<Layout> busy;                           // of each board
  std::vector<std::vector<DeviceProcess>> processes;  // of each board
};
Result<Situation> look(MigDriver& driver);

Result<std::vector<Desired>> wanted(const ConfigOptions& options, const Situation& situation);
Result<std::vector<GpuChange>> changes(const std::vector<Desired>& desired, const Situation& situation, bool adopt,
                                       bool mode_only);

// "keep 3g@4, destroy ..., create ..." of one board, with seconds.
std::string change_text(const GpuChange& change, const GpuBoard& board);
std::string mark(const MigDriver& driver);  // " (soft slices by MPS: not isolated)", or nothing

}  // namespace smartmig::cli
