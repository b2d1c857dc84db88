// The machine that a GPU verb reads or changes: the real one, soft slices by MPS, or with --emulate the emulated
// libnvidia-ml.so.1 that `serve --emulate` also uses. The state of an emulated machine is in STATE/machine. Without
// --state, or if a verb only reads and there is no machine yet, it is in a temporary directory, which the destructor
// removes. A new machine has a virtual clock and a fixed seed, so the output of verbs repeats.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cli/gpus/gpu_options.h"
#include "live/emulation/sim_library.h"
#include "live/gpu/controller_lock.h"
#include "live/gpu/driver.h"

namespace smartmig::cli {

class Machine {
 public:
  // `only`: the one GPU to control, by index or UUID.
  static Result<Machine> open(const GpuOptions& options, bool control, const std::string& only = "");
  Machine(Machine&&) noexcept = default;
  ~Machine();
  MigDriver& driver() { return *driver_; }
  const std::string& state_dir() const { return state_dir_; }
  const std::shared_ptr<SimLibrary>& sim() const { return sim_; }  // null: a real machine

 private:
  Machine() = default;
  Result<Ok> open_emulated(const GpuOptions& options, bool control);
  Result<Ok> open_real(const GpuOptions& options, bool control);
  Result<Ok> make_busy(const std::string& list);

  std::shared_ptr<SimLibrary> sim_;  // of an emulated machine
  std::shared_ptr<MigDriver> driver_;
  std::string state_dir_;
  std::string only_;
  std::string temporary_;  // removed at the end
  ControllerLock lock_;    // of soft slices; NvmlDriver has its own
};

// Everything a plan needs, read once. Slices that --busy names hold processes with made-up numbers.
struct Situation {
  std::vector<GpuBoard> boards;
  std::vector<Layout> busy;                           // of each board
  std::vector<std::vector<DeviceProcess>> processes;  // of each board
};
Result<Situation> look(MigDriver& driver);

}  // namespace smartmig::cli
