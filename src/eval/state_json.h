// A moment of a fleet as JSON (docs/decide.md), read into the Cluster that a policy decides on: the hook for sites
// whose own scheduler asks what to do now.
//
// A Cluster is a fold over events, so a past is made up that leads to the state: every job arrives at time 0 in order
// of submit; a waiting job with progress runs on a slice of its slowest type and is stopped; then each running job
// starts early enough for what it has left. Where the state's clock is too young for that past, all times move by whole
// days, which no policy can notice. The made-up past has energy and counters of its own: they mean nothing.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "model/cluster.h"

namespace smartmig {

struct FleetState {
  Cluster cluster;       // at the state's time, within a new decision and without news
  Time shift{};          // cluster time - the state's time; whole days
  double span_jobs = 0;  // jobs over the workload's days; for rules that weigh one job against all
  // Why no watts are known; empty where they are. Without, every GPU draws 0 W, and only rules that do not look at
  // energy may decide.
  std::string no_power;

  Time outside(Time cluster_time) const { return cluster_time - shift; }
};

// `name` is what complaints call the text. kInvalid: names the JSON path that is wrong, and how.
Result<FleetState> parse_state(const std::string& name, std::string_view text, const CostModel& cost);

}  // namespace smartmig
