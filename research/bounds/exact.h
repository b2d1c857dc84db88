// The optimum of tiny cases (up to kMostExactJobs jobs on one or two GPUs) under paper costs: free preemption, free
// repartitioning, any sizes, any placement, the true speeds and the true power model. It shows how tight the bounds
// are.
//
// A configuration says which job runs on which slice type of which GPU. The list has those that the geometry allows,
// without those that another one beats at every speed and in watts. Within a stretch of time, only the minutes spent in
// each of them matter. Time is cut into slots (a cut at 0 and at every release). Two mixed-integer programs share these
// columns:
//   l[s,c]     minutes of slot s in configuration c; watts(c) * l is its energy
//   end[j,s]   in {0, 1}: job j completes in slot s; only if its progress, sum of l / (its time in c), has reached 1
//   T[j]       its tardiness
// They differ in what they charge:
//   lower  a completion at start(s) + the minutes that the job runs in s; the boards are on until the start of the last
//          slot and for the minutes used in it; an endless slot follows the last. It is a relaxation of every schedule
//   upper  a completion at the end of its slot; the boards are on until then. Each of its points is a schedule
// So what the solver has proven of the first and found for the second enclose the optimum, lower <= optimum <= upper,
// less and plus the solver's tolerance. They meet as slots shrink, and often at once if all times are multiples of the
// slot.
// Value: energy_weight * (watt-minutes of all boards up to the last completion) + tardiness_weight * (mean tardiness,
// minutes).
#pragma once
#include "model/job_table.h"
#include "research/bounds/mip.h"

namespace smartmig {

inline constexpr std::size_t kMostExactJobs = 5, kMostExactGpus = 2;

struct ExactOptions {
  double energy_weight = 0, tardiness_weight = 0;  // {a, 1} for a e + t, {1, 0} for energy, {0, 1} for tardiness
  double slot_min = 1;
  MipLimits limits;  // for each of the two programs
};

struct ExactOptimum {
  double lower = 0, upper = 0;
  std::size_t slots = 0, configurations = 0;
  double seconds = 0;
};

// Refuses, with a sentence: too many jobs, GPUs or slots; negative weights. An error if the time was too short for any
// schedule.
Result<ExactOptimum> exact_optimum(const Platform& platform, const JobTable& jobs, const ExactOptions& options);

}  // namespace smartmig
