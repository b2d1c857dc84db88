#include "cli/simulate/run_options.h"

#include <algorithm>
#include <thread>

#include "base/text.h"
#include "cli/policy_flags.h"

namespace smartmig::cli {

void RunOptions::declare(Command& command) {
  command.heading("Workload");
  command.option("--workload", workload, "SPEC|FILE", "jobs: a generator such as paper:20x,seed=7 or a file")
      .alias("-w");
  command.heading("GPUs and costs");
  command.option("--gpus", gpus, "SPEC", "GPUs of the fleet, such as 8xa100-40gb or 4xa100-40gb,2xa30-24gb");
  command.option(
      "--power", power, "MODEL",
      "power model: auto, paper, a100-sxm, a100-jobs, h200, h100-nvl, board-700w, linear:IDLE:PER_SLICE:CAP");
  command.option("--cost", cost, "MODEL", "paper: preemptions and reshapes are free; hardware: they take time");
  command.option("--reshape-s", reshape_s, "X",
                 "hardware costs: seconds for each change of a GPU, instead of the measured table");
  command.option("--restart", restart, "RULE",
                 "hardware costs: restart cost of jobs: none, table, or SECONDS for training jobs "
                 "(default: the workload's)");
  command.option("--a", a, "A",
                 "weight of a watt-minute relative to a minute of mean tardiness (default: 2e-7 x 8 / (GPUs x days))");
  LoadFlags::declare(command);
  command.heading("");
}

void RunOptions::declare_policy(Command& command) {
  command.heading("Policy");
  declare_policy_parameters(command, parameters);
  command.option("--seed", policy_seed, "S", "seed of the policy's own random choices");
  command.heading("");
  list_policies(command);
}

void RunOptions::declare_estimates(Command& command) {
  command.heading("Policy");
  command.option(
      "--estimates", estimates, "RULE",
      "run times that the policies are told: exact, lognormal:S[:BIAS], over:S, kind, flat or none. The simulator corrects them with what earlier jobs taught it; append ,told to use them uncorrected");
  command.heading("");
}

Result<Setting> RunOptions::setting() const {
  SMARTMIG_TRY(Platform platform, Platform::parse(gpus, power));
  if (const std::string rough = rough_watts(platform); !rough.empty()) fmt::print(stderr, "smartmig: {}\n", rough);
  SMARTMIG_TRY(CostModel cost_model, CostModel::parse(cost));
  if (!reshape_s.empty()) {
    if (cost_model.free()) return invalid("--reshape-s needs --cost hardware: under paper costs reshaping is free");
    const auto value = parse_double(reshape_s);
    if (!value || *value < 0 || *value > 86400)
      return invalid("--reshape-s must be 0 to 86400 seconds, not '{}'", reshape_s);
    cost_model.reshape = from_seconds(*value);
  }
  if (a && *a < 0) return invalid("--a must not be negative, as {} is", *a);
  SMARTMIG_TRY(const LoadOptions load, LoadFlags::options());
  SMARTMIG_TRY(const EstimateRule rule, parse_estimates(estimates));
  return Setting{std::make_shared<Platform>(std::move(platform)), workload, cost_model, a, load, nullptr, rule};
}

PolicyOptions RunOptions::policy_options() const {
  PolicyOptions options = parameters;
  options.rule.seed = std::uint64_t(policy_seed);
  return options;
}

int default_threads() { return std::max(1, int(std::thread::hardware_concurrency())); }

}  // namespace smartmig::cli
