#include "research/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "cli/progress.h"
#include "cli/simulate/run_options.h"
#include "eval/policy_stack.h"
#include "eval/seeds.h"
#include "research/explain/explanation.h"
#include "research/verbs/research_verbs.h"

namespace smartmig::cli {

int run_explain(const Arguments& arguments) {
  RunOptions options;
  std::string policy, seeds_text, fit_text, report, placer = "cedf";
  std::int64_t days = 10, fit_days = 10, depth = 4, threads = default_threads();
  bool json = false, force = false;
  Command command(
      "lab explain", "POLICY",
      "Shows which layouts a policy chooses by hour of the day and by state of the queue. It also distils the policy into a small decision table, and reports how often the table agrees on other days and how much ET it loses.",
      "smartmig lab explain market+cedf -w paper:20x --days 10 --html explain.html");
  command.positional(policy);
  options.declare(command);
  options.declare_policy(command);
  command.option("--days", days, "N", "number of days to show and to test the table on: report seeds from 200000 on");
  command.option("--seeds", seeds_text, "LIST", "seeds of these days, instead of --days, such as 200000-200029");
  command.option("--fit-days", fit_days, "N", "number of days to make the table from: validation seeds from 100000 on");
  command.option("--fit-seeds", fit_text, "LIST", "seeds of these days, instead of --fit-days");
  command.option("--depth", depth, "N", "number of conditions in a row, 0 to 4");
  command.option("--placer", placer, "NAME", "placer to use with the table if the policy places jobs itself");
  command.option("--threads", threads, "N", "number of days to simulate in parallel").alias("-j").also("--jobs");
  command.option("--html", report, "FILE", "write the explanation as an HTML page");
  command.flag("--force", force, "replace an existing page");
  command.flag("--json", json, "print one JSON object");
  if (const auto end = command.ends(arguments)) return *end;
  if (days < 1 || days > 1000 || fit_days < 1 || fit_days > 1000)
    return usage_error(invalid("--days and --fit-days must be 1 to 1000"));
  if (depth < 0 || depth > 4) return usage_error(invalid("--depth {}: 0 to 4", depth));
  if (threads < 1 || threads > 1024) return usage_error(invalid("-j {}: 1 to 1024", threads));
  const auto setting = options.setting();
  if (!setting) return usage_error(setting.error());
  if (!is_workload_spec(options.workload))
    return usage_error(invalid("explain needs a generator such as paper:20x, because it draws a day per seed"));
  const auto list = [](const std::string& text, std::uint64_t first, std::int64_t count) {
    return text.empty() ? Result<std::vector<std::uint64_t>>(seeds_from(first, std::size_t(count))) : parse_seeds(text);
  };
  const auto seeds = list(seeds_text, kFirstReportSeed, days);
  if (!seeds) return usage_error(seeds.error());
  const auto fit_seeds = list(fit_text, kFirstValidationSeed, fit_days);
  if (!fit_seeds) return usage_error(fit_seeds.error());
  for (const std::uint64_t seed : *seeds)
    if (std::find(fit_seeds->begin(), fit_seeds->end(), seed) != fit_seeds->end())
      return usage_error(invalid("seed {} is in both sets of days; give other --fit-seeds", seed));
  const Contender contender = contender_of(policy, options.policy_options());
  const auto made = PolicyStack::make({contender.policy, contender.options, setting->cost}, setting->platform);
  if (!made) return usage_error(made.error());
  if (const auto fair = refuse_training_seeds(contender.label, made->training_seeds, *seeds); !fair)
    return usage_error(fair.error());
  if (const auto known = make_placer(placer, contender.options, setting->cost); !known)
    return usage_error(known.error());
  std::error_code ignored;
  if (!report.empty() && !force && std::filesystem::exists(report, ignored))
    return usage_error(invalid("{} exists; choose another file or add --force", report));

  ExplainOptions explain;
  explain.seeds = *seeds;
  explain.fit_seeds = *fit_seeds;
  explain.table.depth = int(depth);
  explain.joint_placer = placer;
  explain.threads = int(threads);
  Result<Explanation> explanation = [&] {
    Progress bar("explain");
    return explain_policy(*setting, contender, explain, [&bar](double share) { bar.set(share); });
  }();
  if (!explanation) return failure(explanation.error());
  const auto first = make_day(*setting, seeds->front());
  if (!first) return failure(first.error());
  const ExplainedRun run{setting->workload,
                         setting->platform->spec(),
                         setting->cost.name(),
                         energy_weight(*setting, first->jobs->workload()),
                         *seeds,
                         *fit_seeds};
  if (json)
    fmt::print("{}\n", explanation_json(run, *explanation));
  else
    fmt::print("{}", explanation_text(run, *explanation));
  if (!report.empty()) {
    if (const auto written = write_file(report, explanation_page(run, *explanation)); !written)
      return failure(written.error());
    if (!json) fmt::print("page: {}\n", report);
  }
  return 0;
}

}  // namespace smartmig::cli
