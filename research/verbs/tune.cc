#include "research/tune/tune.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/embedded.h"
#include "base/text.h"
#include "cli/simulate/day_options.h"
#include "cli/simulate/run_options.h"
#include "research/verbs/research_verbs.h"

namespace smartmig::cli {

int run_tune(const Arguments& arguments) {
  RunOptions options;
  options.cost = "paper";  // the planner has no weights under hardware costs
  DayOptions days{DayOptions::Use::kTuning, 4, {}, {}, {}};
  std::string out, start, workloads = "paper:8x;paper:12x;paper:16x;paper:20x;paper:24x";
  std::int64_t threads = default_threads(), evaluations = 200, seed = 1;
  double step = 0.25;
  bool force = false, json = false;
  Command command(
      "lab tune", "",
      "Searches for the best weights of market on training days, over several loads at once, and saves them with their seeds.",
      "smartmig lab tune --workloads 'paper:16x;paper:20x' --seeds 1-8 --evaluations 400 -o mine.json");
  options.declare(command);
  command.option("--workloads", workloads, "LIST", "generators and files to tune on, separated by semicolons");
  command.option("--seeds", days.seeds, "LIST",
                 "training seeds within 1-99999: one day of each generator per seed (default: 1-4)");
  days.declare(command);
  command.option("--start", start, "FILE", "weights to start from (default: the shipped ones)");
  command.option("--evaluations", evaluations, "N", "number of sets of weights to try");
  command.option("--step", step, "X", "first step of the search, in the logarithm of a weight");
  command.option("--search-seed", seed, "N", "seed of the search itself");
  command.option("--threads", threads, "N", "number of days to simulate in parallel").alias("-j").also("--jobs");
  command.option("--output", out, "FILE", "write the weights to this file").alias("-o").also("--out");
  command.flag("--force", force, "replace an existing file");
  command.flag("--json", json, "print the weights file instead of a summary");
  if (const auto end = command.ends(arguments)) return *end;
  if (threads < 1 || threads > 1024 || evaluations < 1 || step <= 0 || step > 2)
    return usage_error(invalid("-j must be 1 to 1024, --evaluations at least 1, and --step above 0 and at most 2"));
  const auto setting = options.setting();
  if (!setting) return usage_error(setting.error());
  std::error_code ignored;
  if (!out.empty() && !force && std::filesystem::exists(out, ignored))
    return usage_error(invalid("{} exists; choose another file or add --force", out));
  TuneOptions tune;
  std::vector<std::string> tuned_on;
  std::vector<std::uint64_t> seeds;
  std::size_t count = 0;
  for (const std::string_view item : split(workloads, ';')) {
    Setting own = *setting;
    own.workload = trim(item);
    const bool generator = is_workload_spec(own.workload);
    DayOptions of_item = days;  // drops the options of the other kind of source
    if (generator)
      of_item.window = of_item.windows = "";
    else
      of_item.seeds = "";
    const auto chosen = of_item.choose(own);
    if (!chosen) return chosen.error().code == Error::kInvalid ? usage_error(chosen.error()) : failure(chosen.error());
    if (generator) seeds = *chosen;
    tuned_on.push_back(generator ? own.workload : own.workload + ", " + days_in_words(own, *chosen));
    count += chosen->size();
    tune.sets.push_back({std::move(own), *chosen});
  }
  Result<std::string> text = start.empty() ? std::string(embedded_file("policies/market.json")) : read_file(start);
  if (!text) return usage_error(text.error());
  auto file = parse_weight_file(start.empty() ? "policies/market.json" : start, *text);
  if (!file) return failure(file.error());

  tune.start = file->weights;
  tune.evaluations = int(evaluations);
  tune.step = step;
  tune.seed = std::uint64_t(seed);
  tune.threads = int(threads);
  const std::string source = fmt::format("smartmig tune, {} evaluations from {}, {} costs", evaluations,
                                         start.empty() ? "the shipped weights" : start, options.cost);
  const bool terminal = isatty(STDERR_FILENO);
  double shown = 2;
  const auto outcome = tune_planner(tune, [&](int tried, double best, const JobWeights& weights) {
    if (terminal)
      fmt::print(stderr, "\r\033[Ktune: {} of {} tried, best {:.4f} of the start's ET", tried, evaluations, best);
    if (best < shown && !out.empty()) {  // an interrupted search keeps its result so far
      shown = best;
      (void)write_file(out, to_json(WeightFile{weights, source, tuned_on, seeds}));
    }
  });
  if (terminal) fmt::print(stderr, "\r\033[K");
  if (!outcome) return failure(outcome.error());
  const std::string written = to_json(WeightFile{outcome->weights, source, tuned_on, seeds});
  if (!out.empty())
    if (const auto ok = write_file(out, written); !ok) return failure(ok.error());
  if (json) {
    fmt::print("{}", written);
    return 0;
  }
  fmt::print("{} sets of weights tried on {} days; the best has {:.4f} of the start's ET (mean of ratios)\n",
             outcome->evaluations, count, outcome->score);
  for (std::size_t i = 0; i < tune.sets.size(); ++i)
    if (tune.sets[i].setting.windows) fmt::print("  on {}\n", tuned_on[i]);
  for (const WeightField& field : weight_fields())
    fmt::print("  {:<16} {:10.5g}   from {:.5g}\n", field.name, outcome->weights.*field.value, tune.start.*field.value);
  if (out.empty())
    fmt::print("to keep them, add -o FILE\n");
  else
    fmt::print("written to {}; use them with: smartmig sim --cost paper --policy market --weights {}\n", out, out);
  return 0;
}

}  // namespace smartmig::cli
