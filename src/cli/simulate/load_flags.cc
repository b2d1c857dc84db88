#include "cli/simulate/load_flags.h"

#include <fmt/format.h>

#include <cstdio>

namespace smartmig::cli {

void LoadFlags::declare(Command& command) {
  command.heading("Workload");
  declare_slack(command);
  declare_file(command);
  command.heading("");
}

void LoadFlags::declare_slack(Command& command) {
  command.option("--slack", slack, "LOW-HIGH",
                 "set each deadline to submission + U(LOW, HIGH) x time on a whole GPU; none: no deadlines");
  command.option(
      "--missing-slack", missing_slack, "LOW-HIGH",
      "for a file: draw missing deadlines in the same way; none: leave them out (default for traces: 1-1.5)");
  command.option("--deadline-cut-s", deadline_cut_s, "S",
                 "subtract S seconds from each deadline; the paper subtracts 4 for repartitioning");
}

void LoadFlags::declare_file(Command& command) {
  command.option("--map", map, "FIELD=COLUMN[:UNIT],...",
                 "for a file: the column of each field, such as submit=Start:ms,duration=run:min,gpus=n,kind=model");
  command.option("--format", format, "NAME", "for a file: its format, if smartmig does not recognise it");
  command.option("--default-kind", default_kind, "KIND",
                 "for a file: kind of jobs whose model is unknown, or by class: infer=KIND,train=KIND");
  command.option("--throughputs", throughputs, "FILE[:WORKER]",
                 "for a Gavel trace: file with steps per second (default worker: v100)");
  command.option("--tokens-per-s", tokens_per_s, "X",
                 "for a trace with tokens instead of durations: tokens per second on a whole GPU; 0: not given");
}

Result<LoadOptions> LoadFlags::options() const {
  LoadOptions options;
  if (tokens_per_s < 0) return invalid("--tokens-per-s must be above 0, not {}", tokens_per_s);
  options.tokens_per_s = tokens_per_s;
  if (deadline_cut_s < 0 || deadline_cut_s > 86400)
    return invalid("--deadline-cut-s must be 0 to 86400 seconds, not {}", deadline_cut_s);
  options.deadline_cut = from_seconds(deadline_cut_s);
  if (!restart.empty()) {
    SMARTMIG_TRY(const RestartRule rule, parse_restart(restart));
    options.restart = rule;
  }
  if (!slack.empty()) {
    SMARTMIG_TRY(const SlackRange range, parse_slack(slack));
    options.slack = range;
  }
  if (!missing_slack.empty()) {
    if (!slack.empty())
      return invalid("--slack draws every deadline, --missing-slack only missing ones; give one of them");
    SMARTMIG_TRY(const SlackRange range, parse_slack(missing_slack));
    options.missing_slack = range;
  }
  options.map = map;
  options.format = format;
  options.default_kind = default_kind;
  options.throughputs = throughputs;
  return options;
}

void print_warnings(const TraceReading& reading) {
  for (const std::string& warning : reading.warnings) fmt::print(stderr, "smartmig: warning: {}\n", warning);
}

}  // namespace smartmig::cli
