// smartmig assert: is the machine partitioned as a configuration says? Exit 0 yes, 1 no.
#include <fmt/format.h>

#include "base/json.h"
#include "cli/gpus/gpu_options.h"
#include "cli/gpus/machine.h"
#include "cli/verbs.h"

namespace smartmig::cli {

int run_assert(const Arguments& arguments) {
  GpuOptions options;
  ConfigOptions config;
  bool mode_only = false;
  Command cmd("assert", "", "Exit code 0 if the partition is what a configuration says, 1 if not. Changes nothing.",
              "smartmig assert -f config.yaml -c all-balanced --emulate 8xa100-40gb --state machine");
  config.declare(cmd, true);
  options.declare(cmd, false);
  cmd.flag("--mode-only", mode_only, "compare MIG mode alone");
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  auto machine = Machine::open(options, false);
  if (!machine)
    return machine.error().code == Error::kInvalid ? usage_error(machine.error()) : failure(machine.error());
  const auto situation = look(machine->driver());
  if (!situation) return failure(situation.error());
  const auto desired = wanted(config, *situation);
  if (!desired) return usage_error(desired.error());
  std::vector<std::string> differences;
  for (const Desired& one : *desired)
    if (auto words = difference(one, situation->boards[index(one.gpu)], mode_only))
      differences.push_back(std::move(*words));
  if (options.json) {
    const nlohmann::ordered_json json{{"ok", differences.empty()}, {"differences", differences}};
    fmt::print("{}\n", json_dump(json, 1));
  } else {
    for (const std::string& words : differences) fmt::print("{}\n", words);
    if (differences.empty()) fmt::print("{} GPUs are as the configuration says\n", desired->size());
  }
  return differences.empty() ? 0 : 1;
}

}  // namespace smartmig::cli
