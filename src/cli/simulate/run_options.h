// The options of a simulation, shared by sim, compare, search, tune, explain and bound.
#pragma once
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/simulate/load_flags.h"
#include "eval/experiment.h"

namespace smartmig::cli {

struct RunOptions : LoadFlags {
  std::string workload = "paper:20x";
  std::string gpus = "8xa100-40gb";
  std::string power = "auto";
  PolicyOptions parameters;  // --layouts, --weights, --network
  std::string cost = "hardware";
  std::string reshape_s;
  std::optional<double> a;  // none: 2e-7 x 8 / (GPUs x days)
  std::int64_t policy_seed = 1;
  std::string estimates = "exact";

  void declare(Command& command);
  void declare_policy(Command& command);     // of a verb that takes a policy: its parameters, and the list of policies
  void declare_estimates(Command& command);  // of a verb whose policies may be told other times than the true ones
  // Everything but the workload's day, checked.
  Result<Setting> setting() const;
  PolicyOptions policy_options() const;
};

int default_threads();

}  // namespace smartmig::cli
