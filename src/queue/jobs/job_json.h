// A job record as JSON: what the store keeps (all but the spec, exact), and what the API shows (docs/api.md).
#pragma once
#include <nlohmann/json.hpp>
#include <optional>

#include "model/prices.h"
#include "queue/job_record.h"
#include "queue/store/store.h"

namespace smartmig {

JobRow to_row(const JobRecord& job, bool with_spec);
// kInvalid names the job and the field; a row written by this version is always read back equal.
Result<JobRecord> from_row(const JobRow& row);

struct JobShown {
  UnixTime now{};
  std::optional<UnixTime> expected;  // finish of a running job
  std::optional<double> cost;
  bool with_command = true, with_spec = false;
};
nlohmann::json to_json(const JobRecord& job, const JobShown& shown);
// A row of a table: a third of the size of the whole, and nothing that is for the owner only.
nlohmann::json short_json(const JobRecord& job, const JobShown& shown);

// How late it is, or was: 0 without a deadline; a live job is as late as it will be at least.
Time lateness(const JobRecord& job, UnixTime now, std::optional<UnixTime> expected);
// What its joules and its lateness cost; nothing without prices.
std::optional<double> cost_of(const JobRecord& job, const std::optional<EnergyPrices>& prices, UnixTime now,
                              std::optional<UnixTime> expected);

}  // namespace smartmig
