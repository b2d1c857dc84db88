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
  bool valid_only = false;
  Command cmd(
      "mig assert", "",
      "Checks whether the partition matches a configuration. The exit code is 0 if it does, and 1 if it does not. A GPU that no entry covers does not match. The check changes nothing.",
      "smartmig mig assert --config-file config.yaml --selected-config all-balanced --emulate 8xa100-40gb --state machine");
  config.declare(cmd, "compare only the MIG mode");
  cmd.flag("--valid-config", valid_only, "only check that the file is valid and contains the configuration")
      .also("-a")
      .env("MIG_PARTED_VALID_CONFIG");
  options.declare(cmd, false);
  if (const auto end = cmd.ends(arguments)) return *end;
  if (valid_only) {
    const auto found = selected(config);
    if (!found) return usage_error(found.error());
    fmt::print("configuration '{}' is valid\n", found->label);
    return 0;
  }
  auto machine = Machine::open(options, false);
  if (!machine)
    return machine.error().code == Error::kInvalid ? usage_error(machine.error()) : failure(machine.error());
  const auto situation = look(machine->driver());
  if (!situation) return failure(situation.error());
  const auto desired = wanted(config, *situation);
  if (!desired) return usage_error(desired.error());
  std::vector<std::string> differences;
  for (const Desired& one : desired->gpus)
    if (auto words = difference(one, situation->boards[index(one.gpu)], config.mode_only))
      differences.push_back(std::move(*words));
  differences.insert(differences.end(), desired->without_mig.begin(), desired->without_mig.end());
  if (!config.mode_only) differences.insert(differences.end(), desired->uncovered.begin(), desired->uncovered.end());
  if (options.json) {
    const nlohmann::ordered_json json{{"ok", differences.empty()}, {"differences", differences}};
    fmt::print("{}\n", json_dump(json, 1));
  } else {
    for (const std::string& words : differences) fmt::print("{}\n", words);
    if (differences.empty()) fmt::print("{} GPUs match the configuration\n", desired->gpus.size());
  }
  return differences.empty() ? 0 : 1;
}

}  // namespace smartmig::cli
