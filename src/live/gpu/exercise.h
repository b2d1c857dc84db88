// `smartmig doctor --exercise`: one idle GPU is put through all that smartmig may do with it, and what is seen is
// compared with the tables of this program. Every change goes through Reshaper, as the daemon's changes do.
//
//   1. every placement alone: made, used, found busy, destroyed; of each profile seconds and watts
//   2. every full layout, one after another
//   3. two layouts in turn around a slice in use
//   4. what was there before, again: its layout, and MIG mode
//
// What was there is written down before the first change and removed after the last, so restore_exercised() can finish
// for a process that was killed. A driver that fails ends the exercise early; what was there is restored all the same.
// The report names no machine, user, process or UUID. Thread rule: as MigDriver.
#pragma once
#include <functional>

#include "live/gpu/exercise_report.h"
#include "live/gpu/reshaper.h"
#include "model/power.h"

namespace smartmig {

// Somebody who uses a slice for a while: a program on a real machine, a stand-in on an emulated one.
class SliceUser {
 public:
  struct Seen {
    int devices = 1;
    int sms = 0, memory_mib = 0;  // 0: it cannot tell
    double progress = 0;          // grows as long as it computes
  };
  virtual ~SliceUser() = default;
  virtual Result<Ok> start(const Instance& instance, const Environment& environment) = 0;
  virtual Result<Seen> look() = 0;  // an error: it has ended
  virtual void stop() = 0;
};

struct ExerciseOptions {
  std::string state_dir, version;
  bool adopt = false;               // foreign slices may go; they are made again
  Time watch = Time(3'000'000);     // of the watts of each profile
  Time patience = Time(5'000'000);  // until a process is listed, or no more
  std::function<Time()> now;
  std::function<void(Time)> sleep;
  std::function<bool()> stopped = [] { return false; };
  std::function<void(std::string_view)> tell = [](std::string_view) {};        // what comes next
  std::function<void(std::string_view)> checkpoint = [](std::string_view) {};  // tests kill the process here
};

// kBusy: the GPU is not idle. kUnsupported: it has no MIG. An error means that nothing was changed.
Result<ExerciseReport> exercise(MigDriver& driver, Reshaper& reshaper, SliceUser& user, GpuId gpu,
                                const ExerciseOptions& options);
// What the last exercise of this GPU did not restore, in one sentence; empty: nothing.
Result<std::string> restore_exercised(MigDriver& driver, Reshaper& reshaper, const std::string& state_dir, GpuId gpu);

}  // namespace smartmig
