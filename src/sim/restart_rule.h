// What stopping a job costs, chosen for a whole workload (--restart), in place of what its generator or file says. It
// matters under hardware costs only: under paper costs preemption is free whatever is said here.
//   none      no job can be stopped
//   table     as data/restart.csv says for the job's kind; kinds without a row there cannot be stopped
//   SECONDS   training jobs (kind NAME-train...) resume after SECONDS; all other jobs stay as the workload has them
#pragma once
#include <string>
#include <string_view>

#include "model/workload.h"

namespace smartmig {

struct RestartRule {
  enum class From { kNone, kTable, kSeconds } from = From::kTable;
  Time training{};  // kSeconds
};

Result<RestartRule> parse_restart(std::string_view text);  // "none", "table", "20"
std::string to_string(const RestartRule& rule);            // parses back
// Sets the restart cost of every job it speaks of and says so in Workload::rules.
void set_restart(Workload& workload, const RestartRule& rule);

}  // namespace smartmig
