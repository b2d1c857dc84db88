#include <fmt/format.h>

#include <cstdio>

#include "base/text.h"
#include "cli/progress.h"
#include "cli/simulate/comparison.h"
#include "cli/simulate/day_options.h"
#include "cli/simulate/run_options.h"
#include "cli/verbs.h"
#include "eval/policy_stack.h"
#include "eval/seeds.h"

namespace smartmig::cli {

int run_compare(const Arguments& arguments) {
  RunOptions options;
  std::string policies = "static+cedf,none+edf,none+cedf,search+cedf,static+edf,static+met-w", baseline, report;
  DayOptions days{DayOptions::Use::kReport, 30, {}, {}, {}};
  std::int64_t threads = default_threads();
  bool json = false, force = false, bound = false;
  Command command(
      "compare", "",
      "Runs several policies over the same days, and prints means and 95 % confidence intervals of the paired differences.",
      "smartmig compare -w paper:20x --policies static+cedf,none+cedf,search+cedf --days 30");
  options.declare(command);
  command.heading("Policy");
  command.option("--policies", policies, "LIST",
                 "policies, from the list below; each may have a parameter in brackets");
  options.declare_policy(command);
  options.declare_estimates(command);
  command.heading("Policy");
  command.option("--baseline", baseline, "POLICY", "policy to compare the others with (default: the first)");
  command.heading("");
  command.option("--days", days.days, "N", "number of days: report seeds from 200000 on, or windows of a file");
  command.option("--seeds", days.seeds, "LIST", "seeds of the days, instead of --days, such as 200000-200029");
  days.declare(command);
  command.option("--threads", threads, "N", "number of days to simulate in parallel").alias("-j").also("--jobs");
  command.option("--html", report, "FILE", "write the comparison as an HTML page");
  command.flag("--force", force, "replace an existing page");
  command.flag("--bound", bound, "prove lower bounds for every day and print the gaps (value / bound - 1)");
  command.flag("--json", json, "print one JSON object");
  if (const auto end = command.ends(arguments)) return *end;
  if (days.days < 1 || days.days > 10'000) return usage_error(invalid("--days {}: 1 to 10000", days.days));
  if (threads < 1 || threads > 1024) return usage_error(invalid("-j {}: 1 to 1024", threads));
  auto setting = options.setting();
  if (!setting) return usage_error(setting.error());
  const auto seeds = days.choose(*setting);
  if (!seeds) return seeds.error().code == Error::kInvalid ? usage_error(seeds.error()) : failure(seeds.error());

  std::vector<Contender> contenders;
  for (const std::string& name : split_policies(policies)) {
    const auto known = parse_policy_name(name);
    if (!known) return usage_error(known.error());
    contenders.push_back(contender_of(name, own_parameters(*known, options.policy_options())));
  }
  std::size_t base = 0;
  if (!baseline.empty()) {
    while (base < contenders.size() && contenders[base].label != baseline) ++base;
    if (base == contenders.size()) return usage_error(invalid("the baseline {} is not among the policies", baseline));
  }
  for (const Contender& contender : contenders) {
    const auto made = PolicyStack::make({contender.policy, contender.options, setting->cost}, setting->platform);
    if (!made) return usage_error(made.error());
    if (setting->windows) continue;  // their numbers are no seeds
    if (const auto fair = refuse_training_seeds(contender.label, made->training_seeds, *seeds); !fair)
      return usage_error(fair.error());
  }

  Progress bar("compare");
  const auto runs = run_paired(*setting, contenders, *seeds, int(threads), [&bar](double share) { bar.set(share); });
  if (!runs) return failure(runs.error());
  Comparison comparison = make_comparison(*setting, contenders, *runs, *seeds, base);
  if (bound) {
    Progress bound_bar("bound");
    const auto bounds =
        mean_bounds(*setting, *seeds, int(threads), [&bound_bar](double share) { bound_bar.set(share); });
    if (!bounds) return failure(bounds.error());
    comparison.bounds = *bounds;
  }
  if (json)
    fmt::print("{}\n", comparison_json(comparison));
  else
    fmt::print("{}", comparison_text(comparison));
  if (!report.empty())
    if (const auto written = write_comparison_page(report, comparison, force); !written)
      return failure(written.error());
  return 0;
}

}  // namespace smartmig::cli
