// Reads a moment of a fleet from JSON (docs/decide.md) into the Cluster on which a policy decides: the hook for sites
// whose own scheduler asks what to do now. Joules and counters of that cluster begin at that moment.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "model/cluster.h"

namespace smartmig {

struct FleetState {
  Cluster cluster;       // at the state's time, within a new decision, without news
  double span_jobs = 0;  // jobs over the workload's days; for rules that weigh one job against all
  // Why watts are unknown; empty if they are known. Without watts, every GPU draws 0 W, and only rules that ignore
  // energy may decide.
  std::string no_power;
};

// `name`: the text's name in errors. kInvalid names the wrong JSON path and what is wrong.
Result<FleetState> parse_state(const std::string& name, std::string_view text, const CostModel& cost);

}  // namespace smartmig
