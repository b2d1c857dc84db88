// The options that say what to simulate, shared by sim, compare, search, tune, explain and bound.
#pragma once
#include <optional>
#include <string>

#include "cli/command.h"
#include "eval/experiment.h"

namespace smartmig::cli {

struct RunOptions {
  std::string workload = "paper:20x";
  std::string gpus = "8xa100-40gb";
  std::string power = "auto";
  PolicyOptions parameters;  // --layouts, --weights, --network
  std::string cost = "paper";
  std::string reshape_s, restart;
  std::optional<double> a;  // none: 2e-7 x 8 / (GPUs x days)
  double tokens_per_s = 0;
  std::string slack, missing_slack;
  double deadline_cut_s = 0;
  std::int64_t policy_seed = 1;

  void declare(Command& command);
  void declare_policy(Command& command);  // of a verb that takes a policy: its parameters, and the list of policies
  // Everything but the workload's day, checked.
  Result<Setting> setting() const;
  Result<LoadOptions> load_options() const;
  PolicyOptions policy_options() const;
};

int default_threads();

}  // namespace smartmig::cli
