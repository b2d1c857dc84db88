#include <fmt/format.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/policy_flags.h"
#include "cli/verbs.h"
#include "eval/decision.h"

namespace smartmig::cli {

int run_decide(const Arguments& arguments) {
  std::string policy = "static+cedf", file = "-", cost_name = "hardware";
  PolicyOptions options;
  std::optional<double> a;
  std::int64_t seed = 1;
  bool indent = false;
  Command command(
      "decide", "[-f STATE.json]",
      "Reads the state of a fleet as JSON (GPUs, layouts, waiting and running jobs), and prints what the policy would do: which jobs to stop, which GPUs to reshape and which jobs to start, in this order. docs/decide.md describes both formats.",
      R"(echo '{"smartmig_state":1,"now_s":60,"gpus":[{"model":"a100-40gb","layout":"4g+2g+1g"}],
    "jobs":[{"id":"a","submit_s":0,"deadline_s":300,"work_s":{"1g":400,"2g":200,"4g":100}}]}' |
    smartmig decide --json-indent)");
  command.option("--file", file, "FILE", "read the state from this file; - is standard input").also("-f");
  command.heading("Policy");
  command.option("--policy", policy, "POLICY",
                 "policy, from the list below; without --layouts, static keeps the layouts of the state");
  declare_policy_parameters(command, options);
  command.heading("");
  command.option("--cost", cost_name, "MODEL",
                 "paper: preemptions and reshapes are free; hardware: running jobs stay, only idle slices "
                 "change");
  command.option("--a", a, "A",
                 "weight of a watt-minute relative to a minute of mean tardiness (default: 2e-7 x 8 / (GPUs x days))");
  command.option("--seed", seed, "S", "seed of the policy's own random choices");
  command.flag("--json-indent", indent, "print the plan on several lines");
  list_policies(command);
  if (const auto end = command.ends(arguments)) return *end;
  const auto cost = CostModel::parse(cost_name);
  if (!cost) return usage_error(cost.error());
  if (a && *a < 0) return usage_error(invalid("--a must not be negative, as {} is", *a));
  if (seed < 0) return usage_error(invalid("--seed must be a whole number from 0, not {}", seed));
  options.rule.seed = std::uint64_t(seed);
  if (file == "-" && isatty(STDIN_FILENO))
    return usage_error(invalid(
        "no state was given; run smartmig decide < STATE.json or use --file FILE (see smartmig decide --help)"));

  const auto text = read_file(file);
  if (!text) return failure(text.error());
  const auto state = parse_state(file == "-" ? "state" : file, *text, *cost);
  if (!state) return failure(state.error());
  auto named = policy_for(*state, policy, options, a);
  if (!named) return named.error().code == Error::kInvalid ? usage_error(named.error()) : failure(named.error());
  const auto decision = decide(*state, *named->policy);
  if (!decision) return failure(decision.error());
  fmt::print("{}\n", to_json(*state, named->name, *decision, indent));
  return 0;
}

}  // namespace smartmig::cli
