#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "cli/simulate/day_options.h"
#include "cli/simulate/run_options.h"
#include "cli/verbs.h"
#include "eval/partition_search.h"

namespace smartmig::cli {

int run_search(const Arguments& arguments) {
  RunOptions options;
  SearchOptions search;
  DayOptions days{DayOptions::Use::kSearching, 20, {}, {}, {}};
  std::string out;
  std::int64_t threads = default_threads(), evaluations = std::int64_t(search.max_evaluations);
  bool force = false, json = false, all_shapes = false;
  Command command(
      "search", "",
      "Searches for the best static partition for a placer on training days, and saves it with its seeds. With --twice, it searches for two partitions that alternate daily.",
      "smartmig search -w paper:20x --gpus 8xa100-40gb --placer cedf --days 20 -o mine.json");
  options.declare(command);
  command.heading("Policy");
  command.option("--placer", search.placer, "P", "placer to search the partition for");
  command.flag("--twice", search.twice, "search for two partitions a day and the hours to switch between them");
  command.flag("--all-shapes", all_shapes, "try all maximal shapes of the GPU, not only the papers' twelve");
  command.heading("");
  command.option("--days", days.days, "N", "number of training days: seeds 1 to N, or N windows of a file");
  command.option("--seeds", days.seeds, "LIST", "training seeds within 1-99999, instead of --days");
  days.declare(command);
  command.option("--evaluations", evaluations, "N", "number of partitions to try");
  command.option("--threads", threads, "N", "number of days to simulate in parallel").alias("-j").also("--jobs");
  command.option("--output", out, "FILE", "write the layouts file here").alias("-o").also("--out");
  command.flag("--force", force, "replace an existing file");
  command.flag("--json", json, "print the layouts file instead of a summary");
  if (const auto end = command.ends(arguments)) return *end;
  if (days.days < 1 || days.days > 1000 || threads < 1 || threads > 1024 || evaluations < 1)
    return usage_error(invalid("--days must be 1 to 1000, -j 1 to 1024, and --evaluations at least 1"));
  auto setting = options.setting();
  if (!setting) return usage_error(setting.error());
  const auto seeds = days.choose(*setting);
  if (!seeds) return seeds.error().code == Error::kInvalid ? usage_error(seeds.error()) : failure(seeds.error());
  std::error_code ignored;
  if (!out.empty() && !force && std::filesystem::exists(out, ignored))
    return usage_error(invalid("{} exists; choose another file or add --force", out));

  search.seeds = *seeds;
  search.threads = int(threads);
  search.paper_shapes_only = !all_shapes;
  search.max_evaluations = std::size_t(evaluations);
  const bool terminal = isatty(STDERR_FILENO);
  const auto outcome = search_partition(*setting, search, [&](std::size_t tried, double best) {
    if (terminal) fmt::print(stderr, "\r\033[Ksearch: {} partitions tried, best ET {:.4f}", tried, best);
  });
  if (terminal) fmt::print(stderr, "\r\033[K");
  if (!outcome) return failure(outcome.error());
  const std::string text = to_json(outcome->layouts);
  if (!out.empty())
    if (const auto written = write_file(out, text); !written) return failure(written.error());
  if (json) {
    fmt::print("{}", text);
    return 0;
  }
  fmt::print(
      "{} partition for {} on {} with {}, {}\n{} partitions tried, mean ET {:.4f} (best start "
      "{:.4f})\n",
      search.twice ? "twice-daily" : "static", options.workload, options.gpus, search.placer,
      days_in_words(*setting, *seeds), outcome->evaluations, outcome->layouts.et, outcome->start_et);
  const auto list = [](const char* label, const std::vector<std::string>& shapes) {
    fmt::print("{}\n  {}\n", label, fmt::join(shapes, "\n  "));
  };
  list(search.twice ? "day" : "layouts", outcome->layouts.day);
  if (search.twice) {
    list("night", outcome->layouts.night);
    fmt::print("day from {}:00 to {}:00\n", outcome->layouts.day_begin, outcome->layouts.night_begin);
  }
  if (out.empty())
    fmt::print("to keep it, add -o FILE\n");
  else
    fmt::print("written to {}; use it with: smartmig sim {}--policy search+{} --layouts {}\n", out,
               setting->cost.free() ? "--cost paper " : "", search.placer, out);
  return 0;
}

}  // namespace smartmig::cli
