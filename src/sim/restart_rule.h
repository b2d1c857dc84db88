// The cost of stopping a job, set for a whole workload (--restart) in place of the generator's or the file's. It
// matters only under hardware costs: under paper costs preemption is always free.
//   none      no job can be stopped
//   table     as data/restart.csv says for the job's kind; kinds without a row there cannot be stopped
//   SECONDS   training jobs (kind NAME-train...) resume after SECONDS; other jobs keep the workload's cost
#pragma once
#include <string>
#include <string_view>

#include "model/workload.h"

namespace smartmig {

struct RestartRule {
  enum class From { kNone, kTable, kSeconds } from = From::kTable;
  Time training{};  // with kSeconds
};

Result<RestartRule> parse_restart(std::string_view text);  // "none", "table", "20"
std::string to_string(const RestartRule& rule);            // the result parses back
// Sets the restart cost of every job that the rule covers, and says so in Workload::rules.
void set_restart(Workload& workload, const RestartRule& rule);

}  // namespace smartmig
