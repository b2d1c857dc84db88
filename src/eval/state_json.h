// A moment of a fleet as JSON (docs/decide.md), read into the Cluster that a policy decides on: the hook for sites
// whose own scheduler asks what to do now. Joules and counters of that cluster begin at the moment.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "model/cluster.h"

namespace smartmig {

struct FleetState {
  Cluster cluster;       // at the state's time, within a new decision and without news
  double span_jobs = 0;  // jobs over the workload's days; for rules that weigh one job against all
  // Why no watts are known; empty where they are. Without, every GPU draws 0 W, and only rules that do not look at
  // energy may decide.
  std::string no_power;
};

// `name` is what complaints call the text. kInvalid: names the JSON path that is wrong, and how.
Result<FleetState> parse_state(const std::string& name, std::string_view text, const CostModel& cost);

}  // namespace smartmig
