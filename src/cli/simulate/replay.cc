#include <fmt/format.h>
#include <sys/stat.h>

#include <optional>

#include "base/text.h"
#include "cli/policy_flags.h"
#include "cli/simulate/counterfactual.h"
#include "cli/verbs.h"
#include "report/html_report.h"
#include "report/journal.h"
#include "report/journal_runs.h"
#include "report/summary_text.h"

namespace smartmig::cli {

int run_replay(const Arguments& arguments) {
  std::string path, report, a_text;
  std::int64_t which = 0;
  double energy_price = 0, late_price = 0;
  CounterfactualOptions other;
  bool json = false;
  Command command(
      "replay", "DIR|JOURNAL",
      "Computes a run's figures from its journal.jsonl (plain or gzip; - is standard input) and prints the same summary as the run did. It checks every line. With --policies, it also simulates the recorded jobs under other policies, compares them with the record, and reports how well the simulator predicts the record.",
      "smartmig replay runs/today --report today.html");
  command.positional(path);
  command.flag("--json", json, "print the summary as one JSON object");
  command.option("--html", report, "FILE", "write the run as an HTML page").also("--report");
  command.option("--a", a_text, "X", "weight of energy in ET, instead of the run's own");
  command.option("--policies", other.policies, "LIST",
                 "also simulate the day under these policies, such as planner,search+cedf,none+edf");
  declare_policy_parameters(command, other.parameters);
  list_policies(command);
  command.option("--cost", other.cost, "NAME", "with --policies: paper or hardware (default: the journal's own)");
  command.option("--energy-price", energy_price, "X", "with --policies: price of a kilowatt-hour, for the column cost");
  command.option("--late-price", late_price, "X", "with --policies: price of an hour of lateness");
  command.option("--measured", other.jobs, "FILE",
                 "with --policies: energy of the jobs, from smartmig queue --all --json");
  command.option("--run", which, "N", "for a daemon's journal: the run after its Nth start; 0: the last");
  if (const auto end = command.ends(arguments)) return *end;
  std::optional<double> a;
  if (!a_text.empty()) {
    a = parse_double(a_text);
    if (!a || *a < 0 || *a > 1e6) return usage_error(invalid("--a must be a number from 0 to 1e6, not '{}'", a_text));
  }

  if (which < 0) return usage_error(invalid("--run {}: give 1 for the first run, 0 for the last", which));
  if (energy_price < 0 || late_price < 0 || energy_price > 1e9 || late_price > 1e9)
    return usage_error(invalid("prices must be 0 to 1e9, not {:g} and {:g}", energy_price, late_price));
  if (!other.policies.empty() && !report.empty())
    return usage_error(invalid("--report shows the recorded run; leave out --policies"));

  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) path += "/journal.jsonl";
  auto lines = LineReader::open(path);
  if (!lines) return failure(lines.error());
  const std::string file = lines->name();
  const auto runs = read_journal_runs(std::move(*lines));
  if (!runs) return failure(runs.error());
  if (std::size_t(which) > runs->size())
    return usage_error(invalid("--run {}: {} has {} run{}", which, file, runs->size(), runs->size() == 1 ? "" : "s"));
  const std::size_t number = which == 0 ? runs->size() : std::size_t(which);
  const JournalRun& chosen = (*runs)[number - 1];
  const std::string name =
      runs->size() == 1 ? file
                        : fmt::format("{}, run {} of {} (from line {})", file, number, runs->size(), chosen.first_line);
  const auto run = replay_journal(LineReader::over(name, chosen.text), a);
  if (!run) return failure(run.error());
  if (!other.policies.empty()) {
    if (energy_price > 0 || late_price > 0) other.prices = EnergyPrices{energy_price, late_price};
    other.title = name;
    other.json = json;
    return print_counterfactual(**run, chosen.joules, other);
  }
  const RunRecord& record = (*run)->record;
  if (!report.empty())
    if (const auto written = write_file(report, html_report(record, timeline_of(record))); !written)
      return failure(written.error());
  if (json) {
    fmt::print("{}\n", summary_json(record.summary));
    return 0;
  }
  const std::string policy = record.config_value("policy"), layouts = record.config_value("layouts");
  fmt::print("{} on {}, {} costs, {}\n", policy.empty() ? "run" : policy, record.platform->spec(), record.cost.name(),
             record.jobs->workload().source);
  if (!layouts.empty()) fmt::print("layouts  {}\n", layouts);
  fmt::print("\n{}", summary_text(record.summary));
  return 0;
}

}  // namespace smartmig::cli
