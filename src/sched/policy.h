// The interface of every decision maker: heuristics, planner, network, scripted tests.
// A policy is pure: it sees the belief and writes a plan, without clock, I/O or hardware. It may keep what it derives
// from the belief between calls (cluster.news() says what changed). It must cope with a cluster that it has never seen.
#pragma once
#include <vector>

#include "model/cluster.h"
#include "model/plan.h"

namespace smartmig {

// What a policy that plans ahead currently intends for a waiting job.
struct PlannedStart {
  JobId job = kNoJob;
  GpuId gpu = kNoGpu;
  PlacementId where = kNoPlacement;
  Time begin{}, start{}, finish{};  // begin: when the change that makes its slice begins; equal to start without such a
                                    // change
  Time latest = kNever;             // the job could start now and is held back to save energy, until this instant at
                                    // the latest
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual void decide(const Cluster& cluster, Plan& plan) = 0;  // plan is empty on entry
  // Answers questions between decisions: the plans for the jobs that the policy looks at, in its order. Empty: it does
  // not plan ahead.
  virtual std::vector<PlannedStart> planned_starts(const Cluster&) const { return {}; }
};

}  // namespace smartmig
