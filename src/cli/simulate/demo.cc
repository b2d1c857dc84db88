#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "cli/progress.h"
#include "cli/simulate/comparison.h"
#include "cli/simulate/recorded_run.h"
#include "cli/simulate/run_options.h"
#include "cli/verbs.h"
#include "eval/seeds.h"
#include "report/chart_data.h"
#include "report/run_dir.h"
#include "report/timeline.h"

namespace smartmig::cli {
namespace {

constexpr std::size_t kCurvePoints = 240;
// The first is what the others are compared with: the paper's static baseline.
constexpr const char* kDemoPolicies[] = {"static+cedf", "none+edf",   "none+cedf",      "static[3]+edf",
                                         "search+cedf", "twice+cedf", "meanfield+cedf", "best"};

Result<Ok> demo(const std::string& out, std::uint64_t seed) {
  RunOptions options;
  SMARTMIG_TRY(const Setting setting, options.setting());
  SMARTMIG_TRY(const Day day, make_day(setting, seed));
  std::vector<Contender> contenders;
  for (const char* name : kDemoPolicies) contenders.push_back(contender_of(name, {}));
  for (const Contender& contender : contenders) {
    SMARTMIG_TRY(const NamedPolicy made,
                 make_policy(contender.policy, contender.options, setting.cost, *setting.platform));
    SMARTMIG_RETURN_IF_ERROR(refuse_training_seeds(contender.label, made.training_seeds, {seed}));
  }

  std::vector<std::vector<Summary>> summaries;
  std::vector<Timeline> lines;
  std::unique_ptr<RecordedRun> best;
  std::string best_name;
  Progress bar("one day of 8 A100s");
  for (const Contender& contender : contenders) {
    SMARTMIG_TRY(auto run, run_recorded(setting, contender, day.jobs, true));
    bar.set(double(summaries.size() + 1) / double(contenders.size()));
    summaries.push_back({run->record.summary});
    lines.push_back(timeline_of(run->record));
    if (!best || run->record.summary.et < best->record.summary.et) {
      best = std::move(run);
      best_name = contender.label;
    }
  }
  const Comparison comparison = make_comparison(setting, contenders, summaries, {seed}, 0);
  ComparisonPage page = page_of(comparison, "One day of 8 emulated A100s",
                                fmt::format("The same jobs under {} policies; {} is the paper's static baseline.",
                                            std::size(kDemoPolicies), kDemoPolicies[0]));
  page.command = "smartmig demo";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    page.policies[i].power = power_curve(lines[i], kCurvePoints);
    page.policies[i].end_s = seconds(lines[i].end);
  }
  SMARTMIG_RETURN_IF_ERROR(write_run_dir(out, best->record, {true, true}));
  SMARTMIG_RETURN_IF_ERROR(write_file(out + "/compare.html", compare_report(page)));
  fmt::print("{}\n", comparison_text(comparison));
  fmt::print("least ET: {}\n", best_name);
  fmt::print(
      "{}/compare.html   all policies\n{}/report.html    the best run: slices over time, "
      "power, tardiness\n{}/trace.json     the same run for the Perfetto viewer\n\n",
      out, out, out);
  fmt::print(
      "next: smartmig compare --days 30      the same with confidence intervals\n      smartmig sim --help             "
      "your own workload, fleet and policy\n");
  return Ok{};
}

}  // namespace

int run_demo(const Arguments& arguments) {
  std::string out = "smartmig-demo";
  std::int64_t seed = std::int64_t(kFirstReportSeed);
  Command command(
      "demo", "",
      fmt::format(
          "Simulates one day on 8 emulated A100-40GB GPUs under {} policies, prints a table and writes two HTML pages.",
          std::size(kDemoPolicies)),
      "smartmig demo -o demo");
  command.option("--output", out, "DIR", "directory for the pages; smartmig replaces an existing one")
      .alias("-o")
      .also("--out");
  command.option("--day", seed, "SEED", "seed of the day");
  if (const auto end = command.ends(arguments)) return *end;
  if (seed < 0) return usage_error(invalid("--day must not be negative, as {} is", seed));
  std::error_code ignored;
  if (std::filesystem::exists(out, ignored) && !std::filesystem::exists(out + "/journal.jsonl", ignored))
    return usage_error(invalid("{} exists and is not a smartmig run directory; choose another with -o", out));
  const auto done = demo(out, std::uint64_t(seed));
  return done ? 0 : failure(done.error());
}

}  // namespace smartmig::cli
