// What the verbs that look at GPUs share: the options that say which machine (machine.h), where its state lies and which
// configuration is meant, and the changes that follow. Environment: SMARTMIG_* for every option, MIG_PARTED_CONFIG_FILE and
// MIG_PARTED_SELECTED_CONFIG as mig-parted has them.
#pragma once
#include <string>
#include <vector>

#include "cli/command.h"
#include "live/gpu/desired.h"
#include "live/gpu/driver.h"

namespace smartmig::cli {

struct Situation;

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

Result<std::vector<Desired>> wanted(const ConfigOptions& options, const Situation& situation);
Result<std::vector<GpuChange>> changes(const std::vector<Desired>& desired, const Situation& situation, bool adopt,
                                       bool mode_only);

// "keep 3g@4, destroy ..., create ..." of one board, with seconds.
std::string change_text(const GpuChange& change, const GpuBoard& board);
std::string mark(const MigDriver& driver);  // " (soft slices by MPS: not isolated)", or nothing

}  // namespace smartmig::cli
