// The least makespan of preemptable jobs with release dates on m identical machines (Labetoulle, Lawler, Lenstra,
// Rinnooy Kan); no job runs on two machines at once. The level algorithm solves it: between two releases the largest
// remaining times are cut down together, none by more than the interval, all together by at most m times the interval.
// After the last release, McNaughton's rule gives max(longest, sum / m). Cost: O(n * jobs in progress).
#pragma once
#include <span>

namespace smartmig {

struct ReleasedJob {
  double release = 0, processing = 0;  // any one unit of time
};

double preemptive_makespan(std::span<const ReleasedJob> sorted_by_release, int machines);

}  // namespace smartmig
