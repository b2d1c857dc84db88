// The best schedule in which the jobs end in a given order: a linear program. The order of all releases and ends is kept, the times
// of the ends C are free. Between two neighbours of it, a stretch of length h = next - this >= 0, job j spends t[j,c] >= 0 minutes on
// machines of class c, if it is there and not over:
//   minimise sum T,  T[j] >= C[j] - d[j],  sum over stretches and classes of speed * t = 1 for every job
//   sum_j t[j,c] <= count(c) h,  sum_c t[j,c] <= h    in every stretch: then a preemptive open shop gives the schedule
// So each answer is a schedule, and the best over all orders is the optimum of the jobs. Where two neighbours end at the same time
// and the dual value of their order says that the other one would gain, they change places and the program is solved again, as
// long as that helps. Units: minutes; deadlines as in LateJob.
#pragma once
#include "research/bounds/priced_run.h"

namespace smartmig {

struct OrderedSchedule {
  double tardiness = kMipInfinity;  // sum over jobs
  std::vector<double> ends;
  std::vector<WholeRun> runs;  // what each job does when
};

// `ends`: about when jobs end; gives the order and where the releases lie in it. REQUIRES: no job ends before its release.
// Infinite tardiness where no schedule has that order.
OrderedSchedule best_in_order(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
                              const std::vector<double>& ends, int most_rounds = 8);

}  // namespace smartmig
