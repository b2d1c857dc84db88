#include "eval/tune.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/embedded.h"
#include "base/text.h"
#include "cli/simulate/run_options.h"
#include "cli/verbs.h"
#include "eval/seeds.h"

namespace smartmig::cli {

int run_tune(const Arguments& arguments) {
  RunOptions options;
  std::string out, start, seeds_text = "1-4", workloads = "paper:8x;paper:12x;paper:16x;paper:20x;paper:24x";
  std::int64_t threads = default_threads(), evaluations = 200, seed = 1;
  double step = 0.25;
  bool force = false, json = false;
  Command command("tune", "",
                  "Searches the planner's weights on training days, over several loads at once, and saves them with "
                  "their seeds.",
                  "smartmig tune --workloads 'paper:16x;paper:20x' --seeds 1-8 --evaluations 400 -o mine.json");
  options.declare(command);
  command.option("--workloads", workloads, "LIST", "generators to tune on, separated by semicolons");
  command.option("--seeds", seeds_text, "LIST", "training seeds, within 1-99999; a day of each workload for each");
  command.option("--start", start, "FILE", "weights to start from; default: the shipped ones");
  command.option("--evaluations", evaluations, "N", "sets of weights to try");
  command.option("--step", step, "X", "first step of the search, in the logarithm of a weight");
  command.option("--search-seed", seed, "N", "seed of the search itself");
  command.option("--jobs", threads, "N", "days run at once").alias("-j");
  command.option("--out", out, "FILE", "weights file to write").alias("-o");
  command.flag("--force", force, "replace an existing file");
  command.flag("--json", json, "print the weights file instead of a summary");
  const auto parsed = command.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  if (threads < 1 || threads > 1024 || evaluations < 1 || step <= 0 || step > 2)
    return usage_error(invalid("-j 1 to 1024, --evaluations at least 1, --step above 0 and at most 2"));
  const auto setting = options.setting();
  if (!setting) return usage_error(setting.error());
  const auto seeds = parse_seeds(seeds_text);
  if (!seeds) return usage_error(seeds.error());
  for (const std::uint64_t s : *seeds)
    if (s < kFirstTrainingSeed || s > kLastTrainingSeed)
      return usage_error(invalid("seed {} is not for tuning: use {} to {}", s, kFirstTrainingSeed, kLastTrainingSeed));
  std::error_code ignored;
  if (!out.empty() && !force && std::filesystem::exists(out, ignored))
    return usage_error(invalid("{} exists already: choose another file or add --force", out));
  TuneOptions tune;
  for (const std::string_view item : split(workloads, ';')) {
    tune.workloads.emplace_back(trim(item));
    if (!is_workload_spec(tune.workloads.back()))
      return usage_error(
          invalid("'{}' is no generator; tune draws days from generators such as paper:20x", tune.workloads.back()));
  }
  Result<std::string> text = start.empty() ? std::string(embedded_file("policies/planner.json")) : read_file(start);
  if (!text) return usage_error(text.error());
  auto file = parse_weight_file(start.empty() ? "policies/planner.json" : start, *text);
  if (!file) return usage_error(file.error());

  tune.start = file->weights;
  tune.seeds = *seeds;
  tune.evaluations = int(evaluations);
  tune.step = step;
  tune.seed = std::uint64_t(seed);
  tune.threads = int(threads);
  const std::string source = fmt::format("smartmig tune, {} evaluations from {}, {} costs", evaluations,
                                         start.empty() ? "the shipped weights" : start, options.cost);
  const bool terminal = isatty(STDERR_FILENO);
  double shown = 2;
  const auto outcome = tune_planner(*setting, tune, [&](int tried, double best, const JobWeights& weights) {
    if (terminal)
      fmt::print(stderr, "\r\033[Ktune: {} of {} tried, best {:.4f} of the start's ET", tried, evaluations, best);
    if (best < shown && !out.empty()) {  // a search that is cut off keeps what it found
      shown = best;
      (void)write_file(out, to_json(WeightFile{weights, source, tune.workloads, tune.seeds}));
    }
  });
  if (terminal) fmt::print(stderr, "\r\033[K");
  if (!outcome) return failure(outcome.error());
  const std::string written = to_json(WeightFile{outcome->weights, source, tune.workloads, tune.seeds});
  if (!out.empty())
    if (const auto ok = write_file(out, written); !ok) return failure(ok.error());
  if (json) {
    fmt::print("{}", written);
    return 0;
  }
  fmt::print("{} sets of weights tried on {} days; the best has {:.4f} of the start's ET (mean of ratios)\n",
             outcome->evaluations, tune.workloads.size() * tune.seeds.size(), outcome->score);
  for (const WeightField& field : weight_fields())
    fmt::print("  {:<16} {:10.5g}   from {:.5g}\n", field.name, outcome->weights.*field.value, tune.start.*field.value);
  if (out.empty())
    fmt::print("add -o FILE to keep them\n");
  else
    fmt::print("written to {}; use them with: smartmig sim --policy planner --weights {}\n", out, out);
  return 0;
}

}  // namespace smartmig::cli
