// Options that the GPU verbs share: the machine (machine.h), its state directory, the configuration, and the permitted
// changes. Environment: SMARTMIG_STATE, and mig-parted's variables for the options that both have
// (docs/gpu-control.md).
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
  bool mode_only = false;
  void declare(Command& cmd, const char* mode_only_help);
};

// The configuration that a file and a label name.
Result<MigConfig> selected(const ConfigOptions& options);
Result<WantedPartition> wanted(const ConfigOptions& options, const Situation& situation);
std::vector<GpuChange> changes(const WantedPartition& wanted, const Situation& situation, bool adopt, bool mode_only);
Time predicted(const GpuChange& change);
Layout kept(const GpuChange& change);  // what runs on
bool nothing_to_do(const GpuChange& change);

// mig export and mig generate-config.
struct ConfigOutput {
  std::string file, format = "yaml";
  void declare(Command& cmd, const char* file_alias);
  Result<Ok> check() const;
  int write(const MigConfigFile& config, bool json) const;  // prints, or writes the file; an exit code
};

// "keep 3g@4, destroy ..., create ..." of one board, with seconds.
std::string change_text(const GpuChange& change, const GpuBoard& board);
std::string mark(const MigDriver& driver);  // " (soft slices by MPS: not isolated)", or nothing

}  // namespace smartmig::cli
