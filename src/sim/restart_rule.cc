#include "sim/restart_rule.h"

#include "base/text.h"
#include "sim/kind_curve.h"

namespace smartmig {

using From = RestartRule::From;

Result<RestartRule> parse_restart(std::string_view text) {
  if (text == "none") return RestartRule{From::kNone, {}};
  if (text == "table") return RestartRule{From::kTable, {}};
  const auto s = parse_double(text);
  if (!s || *s < 0 || *s > 1e6)
    return invalid(
        "restart '{}': must be none, table, or the seconds in which training jobs resume, 0 to "
        "1000000",
        text);
  return RestartRule{From::kSeconds, from_seconds(*s)};
}

std::string to_string(const RestartRule& rule) {
  if (rule.from == From::kSeconds) return fmt::format("{}", seconds(rule.training));
  return rule.from == From::kNone ? "none" : "table";
}

void set_restart(Workload& workload, const RestartRule& rule) {
  struct OfKind {
    bool training;
    Time from_table;
  };
  std::vector<OfKind> kinds;
  for (const std::string& kind : workload.kinds) kinds.push_back({split_kind(kind).phase == "train", restart_of(kind)});
  std::size_t stoppable = 0;
  for (Job& job : workload.jobs) {
    const OfKind kind = job.kind < 0 ? OfKind{false, Time{-1}} : kinds[std::size_t(job.kind)];
    if (rule.from == From::kNone) job.restart = Time{-1};
    if (rule.from == From::kTable) job.restart = kind.from_table;
    if (rule.from == From::kSeconds && kind.training) job.restart = rule.training;
    stoppable += job.restart >= Time{0};
  }
  const std::string text = rule.from == From::kNone    ? "no job can be stopped"
                           : rule.from == From::kTable ? "as in data/restart.csv by kind, other kinds cannot be stopped"
                                                       : fmt::format("training jobs {} s", seconds(rule.training));
  workload.rules.push_back(
      fmt::format("restart costs by --restart, instead of the workload's own: {} ({} of {} jobs can be "
                  "stopped)",
                  text, stoppable, workload.jobs.size()));
}

}  // namespace smartmig
