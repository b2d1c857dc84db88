// Batches as the authors of FAR, a scheduler of moldable jobs on one MIG GPU, make them (artecs-group/
// RL_MIG_scheduler). Jobs scale up to some number of slices and hardly beyond. Some are bound by memory and gain more
// than their share from each memory slice. All arrive at time 0, and none has a deadline. Pure functions of (family,
// count, seed).
#pragma once
#include <span>

#include "model/workload.h"

namespace smartmig {

struct FarFamily {
  const char* name;
  double scale_to[5];             // share of the jobs that scale up to 1, 2, 3, 4, 7 slices
  double memory_bound;            // share of these that are bound by memory
  double least_s, most_s;         // on one slice
  double printed_15, printed_30;  // FAR's makespan / area bound, for 15 and 30 jobs
};
std::span<const FarFamily> far_families();

Workload far_batch(const FarFamily& family, int count, std::uint64_t seed);

// No schedule on one GPU of seven slices is shorter: every job runs on the size with the fewest slice-seconds, and no
// slice is idle.
double area_bound_s(const Workload& batch);

}  // namespace smartmig
