// The machine behind `--emulate 8xa100-40gb` of every verb: finds the emulated libnvidia-ml.so.1, creates the machine
// in a directory or opens an existing one, and returns what child processes need to see it. The machine lives in the
// directory, not in the process: a restarted daemon finds instances, energy and other processes as they were. After a
// restart of the host the machine is created again, because real GPUs also start empty. Thread rule: call open() before
// other threads start, because it sets NVML_SIM_STATE for this process; immutable afterwards.
#pragma once
#include "live/emulation/sim_library.h"
#include "live/gpu/driver.h"

namespace smartmig {

class EmulatedMachine {
 public:
  struct Options {
    std::string boards = "8xa100-40gb";  // "8xa100-40gb,2xh200-141gb"
    std::string directory;
    std::string clock = "real";  // real, zero (reshaping takes no time), virtual; empty: that of the machine that is
                                 // there, virtual for a new one
    std::string power = "auto";  // as nvml-sim-ctl init --power; of a new machine
    std::uint64_t seed = 0;      // of UUIDs; 0: drawn from the system; of a new machine
    std::string library;         // empty: find_nvml_sim()
  };
  // kInvalid: an existing machine has other boards or another clock, or `boards` names none.
  static Result<EmulatedMachine> open(Options options);

  const std::string& library() const { return sim_->path(); }          // for NvmlDriver::Options::library
  const std::string& directory() const { return options_.directory; }  // absolute
  const std::string& clock() const { return options_.clock; }
  bool made() const { return made_; }  // false: it was there
  const std::shared_ptr<SimLibrary>& sim() const { return sim_; }
  // What a child needs so that nvtop or smartmig-emulated-job in it see the machine. `search`: the LD_LIBRARY_PATH that
  // the child would have.
  Environment environment(std::string_view search = "") const;

 private:
  EmulatedMachine(Options options, std::shared_ptr<SimLibrary> sim)
      : options_(std::move(options)), sim_(std::move(sim)) {}
  Options options_;
  std::shared_ptr<SimLibrary> sim_;
  bool made_ = false;
};

// SMARTMIG_NVML_SIM (the file or its directory), else nvml-sim/ next to this program, else ../lib/smartmig.
Result<std::string> find_nvml_sim();

}  // namespace smartmig
