#include "cli/simulate/load_flags.h"

#include <fmt/format.h>

#include <cstdio>

namespace smartmig::cli {

void LoadFlags::declare(Command& command) {
  declare_slack(command);
  declare_file(command);
}

void LoadFlags::declare_slack(Command& command) {
  command.option("--slack", slack, "LOW-HIGH",
                 "draw every deadline anew: submit + U(LOW, HIGH) x time on the whole GPU; none: no deadlines");
  command.option("--missing-slack", missing_slack, "LOW-HIGH",
                 "of a file: draw so the deadlines that it does not give, or none; a trace's are else drawn at 1-1.5");
  command.option("--deadline-cut-s", deadline_cut_s, "S",
                 "take S seconds off every deadline: the paper charges repartitioning as 4");
}

void LoadFlags::declare_file(Command& command) {
  command.option("--map", map, "FIELD=COLUMN[:UNIT],...",
                 "of a file: which column means what: submit=Start:ms,duration=run:min,gpus=n,kind=model");
  command.option("--format", format, "NAME", "of a file: its format, where it is not recognised");
  command.option("--default-kind", default_kind, "KIND",
                 "of a file: kind of jobs whose model is not known; by class: infer=KIND,train=KIND");
  command.option("--throughputs", throughputs, "FILE[:WORKER]",
                 "of a Gavel trace: its file of steps per second; worker v100 if not given");
  command.option("--tokens-per-s", tokens_per_s, "X",
                 "for traces that record tokens instead of durations: speed of the whole GPU; 0: not given");
}

Result<LoadOptions> LoadFlags::options() const {
  LoadOptions options;
  if (tokens_per_s < 0) return invalid("--tokens-per-s must be above 0, not {}", tokens_per_s);
  options.tokens_per_s = tokens_per_s;
  if (deadline_cut_s < 0 || deadline_cut_s > 86400)
    return invalid("--deadline-cut-s {}: seconds from 0 to 86400", deadline_cut_s);
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
    if (!slack.empty()) return invalid("--slack draws every deadline, --missing-slack the missing ones: give one");
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
