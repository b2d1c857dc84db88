// A fleet as it is found at some moment, and the Cluster that believes it: every job that has come is submitted at that
// moment, in order of submit, and then found running or found waiting with what it has left (model/event.h). `decide` reads such a
// fleet from JSON, `eta` and `whatif` take it from the living one.
#pragma once
#include <memory>
#include <vector>

#include "model/cluster.h"

namespace smartmig {

struct FoundJob {
  GpuId gpu = kNoGpu;  // where it runs; kNoGpu: it waits
  PlacementId where = kNoPlacement;
  Time left{};           // while it runs
  double remaining = 1;  // while it waits: share of the whole job, 0..1; below 1 it has run before
  bool comes_later = false;
};

struct FoundFleet {
  std::shared_ptr<const Platform> platform;
  std::shared_ptr<const JobTable> jobs;
  CostModel cost;
  Time now{};
  std::vector<Layout> layouts, targets;  // by GPU; under paper costs equal
  std::vector<FoundJob> found;           // by job
};

// The cluster at fleet.now, within a new decision, without news. REQUIRES: running jobs are on slices of the layouts
// that they can run on, one each.
Cluster cluster_of(const FoundFleet& fleet);
// That a job which comes at `at` has run before. REQUIRES: its `remaining` is below 1.
Event found_with_progress(const FoundFleet& fleet, JobId job, Time at);

}  // namespace smartmig
