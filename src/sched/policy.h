// The interface of every decision maker: heuristics, planner, network, scripted tests.
// A policy is pure: it sees the belief and writes a plan; no clock, no I/O, no hardware. It may keep what it derives
// from the belief between calls (cluster.news() says what changed), and must cope with a cluster it has never seen.
#pragma once
#include <vector>

#include "model/cluster.h"
#include "model/plan.h"

namespace smartmig {

// What a policy that plans ahead has in mind for a waiting job, as things are now.
struct PlannedStart {
  JobId job = kNoJob;
  GpuId gpu = kNoGpu;
  PlacementId where = kNoPlacement;
  Time begin{}, start{}, finish{};  // begin: of the change that makes its slice; without one the start
  Time latest = kNever;             // it could start now and is held back to save energy: no longer than until then
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual void decide(const Cluster& cluster, Plan& plan) = 0;  // plan is empty on entry
  // For questions, between decisions: of the jobs that it looks at, in its order. Empty: it does not plan ahead.
  virtual std::vector<PlannedStart> planned_starts(const Cluster&) const { return {}; }
};

}  // namespace smartmig
