// A fleet as found at some moment, and the Cluster that represents it. Every job that has arrived is submitted at that
// moment, in order of submit, and then found running or found waiting with the work it has left (model/event.h).
// `decide` reads such a fleet from JSON; `eta` and `whatif` copy it from the live one.
#pragma once
#include <memory>
#include <vector>

#include "model/cluster.h"

namespace smartmig {

struct FoundJob {
  GpuId gpu = kNoGpu;  // the GPU where it runs; kNoGpu: it waits
  PlacementId where = kNoPlacement;
  Time left{};           // of a running job
  double remaining = 1;  // of a waiting job: share of the whole job, 0..1; below 1 it has run before
  bool comes_later = false;
};

struct FoundFleet {
  std::shared_ptr<const Platform> platform;
  std::shared_ptr<const JobTable> jobs;
  CostModel cost;
  Time now{};
  std::vector<Layout> layouts, targets;  // by GPU; equal under paper costs
  std::vector<FoundJob> found;           // by job
};

// The cluster at fleet.now, within a new decision, without news. REQUIRES: each running job has its own slice of the
// layouts, and can run on it.
Cluster cluster_of(const FoundFleet& fleet);
// Says that a job which arrives at `at` has run before. REQUIRES: its `remaining` is below 1.
Event found_with_progress(const FoundFleet& fleet, JobId job, Time at);

}  // namespace smartmig
