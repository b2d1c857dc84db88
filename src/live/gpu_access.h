// The GPUs of this machine, opened to be controlled: real ones, soft slices by MPS, or an emulated machine, with the
// clock that goes with them. For the daemon and for the agents of a cluster. Thread rule: as EmulatedMachine: before
// other threads start.
#pragma once
#include <memory>
#include <string>

#include "live/emulation/emulated_machine.h"
#include "live/gpu/driver.h"
#include "live/live_clock.h"

namespace smartmig {

struct GpuAccessOptions {
  std::string driver = "nvml";  // nvml, mps, or emulate:8xa100-40gb
  std::string state_dir;
  std::string nvml;            // library of the real driver; empty: the system's
  std::string like;            // mps: the catalogue model to imitate
  double overlap = 1;          // mps: of the SMs, times a slice's share (MpsDriver::Options)
  bool halves = false;         // mps: slices of half the memory, too
  bool nothing_runs = false;   // mps: in any slice, as far as is known
  bool adopt = false;          // take over slices that somebody else made
  std::string clock = "real";  // of an emulated machine: real, zero, virtual
  std::string power = "auto";  // of an emulated machine
  std::uint64_t seed = 0;      // of an emulated machine
  RealClock::Steps steps = RealClock::Steps::kFollowed;
};

struct GpuAccess {
  std::unique_ptr<EmulatedMachine> machine;  // null: the GPUs are real
  std::shared_ptr<LiveClock> clock;
  std::shared_ptr<MigDriver> driver;
};

Result<GpuAccess> open_gpus(const GpuAccessOptions& options);

}  // namespace smartmig
