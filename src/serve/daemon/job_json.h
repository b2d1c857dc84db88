// A job record as JSON: what the store keeps (all but the spec, exact), and what the API shows (docs/api.md).
#pragma once
#include <nlohmann/json.hpp>
#include <optional>

#include "model/prices.h"
#include "serve/daemon/job_record.h"
#include "serve/store/store.h"

namespace smartmig {

inline double unix_seconds(Time t) { return double(t.count()) / 1e6; }

JobRow to_row(const JobRecord& job, bool with_spec);
// kInvalid names the job and the field; a row written by this version is always read back equal.
Result<JobRecord> from_row(const JobRow& row);

struct JobShown {
  Time now{};                    // Unix
  std::optional<Time> expected;  // finish of a running job
  std::optional<double> cost;
  bool with_spec = false;
};
nlohmann::json to_json(const JobRecord& job, const JobShown& shown);

// How late it is, or was: 0 without a deadline; a live job is as late as it will be at least.
Time lateness(const JobRecord& job, Time now, std::optional<Time> expected);
// What its joules and its lateness cost; nothing without prices.
std::optional<double> cost_of(const JobRecord& job, const std::optional<EnergyPrices>& prices, Time now,
                              std::optional<Time> expected);

}  // namespace smartmig
