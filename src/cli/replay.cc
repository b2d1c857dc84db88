#include <fmt/format.h>
#include <sys/stat.h>

#include <optional>

#include "base/text.h"
#include "cli/command.h"
#include "cli/verbs.h"
#include "report/html_report.h"
#include "report/journal.h"
#include "report/summary_text.h"

namespace smartmig::cli {

int run_replay(const Arguments& arguments) {
  std::string path, report, a_text;
  bool json = false;
  Command command("replay", "DIR|JOURNAL",
                  "Folds the journal of a run back into its figures: the same summary as the run printed, from "
                  "journal.jsonl alone (plain or gzip, - for\n"
                  "standard input). Every line is checked against the fleet it meets.",
                  "smartmig replay runs/today --report today.html");
  command.positional(path);
  command.flag("--json", json, "print the summary as one JSON object");
  command.option("--report", report, "FILE", "write an HTML report of the run");
  command.option("--a", a_text, "X", "weight of energy in ET in place of the run's own");
  const auto parsed = command.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  std::optional<double> a;
  if (!a_text.empty()) {
    a = parse_double(a_text);
    if (!a || *a < 0 || *a > 1e6) return usage_error(invalid("--a needs a number from 0 to 1e6, not '{}'", a_text));
  }

  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) path += "/journal.jsonl";
  auto lines = LineReader::open(path);
  if (!lines) return failure(lines.error());
  const auto run = replay_journal(std::move(*lines), a);
  if (!run) return failure(run.error());
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
