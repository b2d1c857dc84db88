#include "eval/found_fleet.h"

namespace smartmig {

// Counts a waiting job's progress in time on the slice type where it is slowest: that is the finest resolution.
Event found_with_progress(const FoundFleet& fleet, JobId job, Time at) {
  const Platform& platform = *fleet.platform;
  GpuId slowest_gpu = kNoGpu;
  PlacementId slowest = kNoPlacement;
  Time longest{-1};
  for (std::size_t m = 0, gpu = 0; m < platform.models().size(); ++m) {
    while (platform.model_index(GpuId(gpu)) != int(m)) ++gpu;  // models are numbered by their first GPU
    const auto& types = platform.models()[m].type_of_placement;
    for (std::size_t p = 0; p < types.size(); ++p)
      if (const Time work = fleet.jobs->work(job, types[p]); work > longest) {
        longest = work;
        slowest_gpu = GpuId(gpu);
        slowest = PlacementId(p);
      }
  }
  const double remaining = fleet.found[index(job)].remaining;
  return Event::found_waiting(at, job, slowest_gpu, slowest, rounded(remaining * double(longest.count())));
}

Cluster cluster_of(const FoundFleet& fleet) {
  Cluster cluster(fleet.platform, fleet.jobs, fleet.cost, fleet.layouts, fleet.now);
  for (std::size_t j = 0; j < fleet.found.size(); ++j)
    if (!fleet.found[j].comes_later) cluster.apply(Event::submitted(fleet.now, JobId(j)));
  for (std::size_t j = 0; j < fleet.found.size(); ++j) {
    const FoundJob& job = fleet.found[j];
    if (job.comes_later) continue;
    if (job.gpu != kNoGpu)
      cluster.apply(Event::found_running(fleet.now, JobId(j), job.gpu, job.where, job.left));
    else if (job.remaining < 1)
      cluster.apply(found_with_progress(fleet, JobId(j), fleet.now));
  }
  for (std::size_t g = 0; g < fleet.targets.size(); ++g)
    if (fleet.targets[g] != fleet.layouts[g])
      cluster.apply(Event::reshape_asked(fleet.now, GpuId(g), fleet.targets[g]));
  cluster.end_decision(false);
  cluster.begin_decision();
  return cluster;
}

}  // namespace smartmig
