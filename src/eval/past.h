// A made-up past that leads a Cluster, a fold over events, to a given present; see state_json.h for why and how.
// Progress is the share of the whole job that is left, exact to the microsecond on the type it is replayed on.
#pragma once
#include <memory>
#include <vector>

#include "model/cluster.h"

namespace smartmig {

struct Past {
  struct Progress {
    double remaining = 1;  // share of the whole job, 0..1
    GpuId gpu = kNoGpu;    // where it runs now; kNoGpu: it waits
    PlacementId where = kNoPlacement;
  };
  std::shared_ptr<const Platform> platform;
  std::shared_ptr<const JobTable> jobs;
  CostModel cost;
  Time now{};
  std::vector<Layout> layouts, targets;  // by GPU; under paper costs equal
  std::vector<Progress> progress;        // by job
};

// The least number of whole days by which `now` must move for the past to fit between 0 and it. An error when it takes
// longer than any clock here.
Result<Time> days_to_make_room(const Past& past);

// The cluster at past.now, within a new decision, without news. REQUIRES: the past fits, running jobs are on slices of
// the layouts that they run on, one each.
Cluster cluster_after(const Past& past);

}  // namespace smartmig
