#include "cli/verbs.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/text.h"

namespace smartmig::cli {

std::span<const Verb> verbs() {
  static const Verb table[] = {
      {"demo", "one day of 8 emulated A100s under several policies, with an HTML report", run_demo},
      {"sim", "simulate a workload under one policy", run_sim},
      {"compare", "several policies over paired days, with intervals", run_compare},
      {"search", "find a static or twice-daily partition on training days", run_search},
      {"tune", "search the planner's weights on training days", run_tune},
      {"train", "train a mean-field controller by PPO", run_train},
      {"eval", "one policy against every baseline on report days", run_eval},
      {"explain", "which layouts a policy takes when, and a small table that imitates it", run_explain},
      {"bound", "a proven lower bound on energy, tardiness or ET, with a certificate", run_bound},
      {"size", "how many GPUs a workload needs", run_size},
      {"reproduce", "the papers' tables beside ours", run_reproduce},
      {"decide", "layouts and placements for a state given as JSON", run_decide},
      {"workload", "generate, convert and check workloads", run_workload},
      {"gpus", "the GPUs of this machine, their slices and what is busy", run_gpus},
      {"plan", "what apply would destroy, keep and create, with seconds", run_plan},
      {"apply", "make the partition what a configuration says, around what runs", run_apply},
      {"assert", "is the partition what a configuration says?", run_assert},
      {"export", "the present partition as a configuration, or with --onnx a trained policy as a model", run_export},
      {"generate-config", "a configuration file for the GPUs of this machine", run_generate_config},
      {"doctor", "is this machine fit to be controlled? one remedy for each complaint", run_doctor},
      {"geometry", "MIG models, profiles, layouts and moves", run_geometry},
      {"replay", "the figures of a recorded journal", run_replay},
  };
  return table;
}

int usage_error(const Error& error) {
  fmt::print(stderr, "smartmig: {}\n", error.what);
  return 2;
}

int failure(const Error& error) {
  fmt::print(stderr, "smartmig: {}\n", error.what);
  return 1;
}

namespace {

void print_help() {
  fmt::print(
      "smartmig: carve MIG GPUs into slices, place jobs on them, and know how much energy and lateness it costs\n\n");
  fmt::print("Usage: smartmig VERB [options]      smartmig VERB --help says more\n\n");
  for (const Verb& verb : verbs()) fmt::print("  {:<15} {}\n", verb.name, verb.summary);
  fmt::print("\nExample:\n  smartmig sim -w paper:20x,seed=7 --gpus 8xa100-40gb --policy static+cedf\n");
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argv + std::min(argc, 1), argv + argc);
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    print_help();
    return arguments.empty() ? 2 : 0;
  }
  if (arguments[0] == "--version") {
    fmt::print("smartmig {}\n", SMARTMIG_VERSION);
    return 0;
  }
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) {
    if (arguments[0] == verb.name) return verb.run(Arguments(arguments.begin() + 1, arguments.end()));
    names.emplace_back(verb.name);
  }
  const std::string near = nearest(arguments[0], names);
  return usage_error(invalid("'{}' is not a verb{}; smartmig --help lists them", arguments[0],
                             near.empty() ? "" : ", did you mean " + near + "?"));
}

}  // namespace smartmig::cli
