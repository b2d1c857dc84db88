// The best schedule in which the jobs end in a given order: a linear program. The order of all releases and ends is
// fixed, the times of the ends C are free. In a stretch between two neighbours, of length h = next - this >= 0, job j
// spends t[j,c] >= 0 minutes on machines of class c, if it has arrived and is not over:
//   minimise sum T,  T[j] >= C[j] - d[j],  sum over stretches and classes of speed * t = 1 for every job
//   sum_j t[j,c] <= count(c) h,  sum_c t[j,c] <= h    in every stretch: then a preemptive open shop gives the schedule
// So each answer is a schedule, and the best over all orders is the optimum of the jobs. If two neighbours end at the
// same time and the dual value of their order says that a swap would gain, they are swapped and the program is solved
// again, as long as that helps. Units: minutes; deadlines as in LateJob.
#pragma once
#include "research/bounds/priced_run.h"

namespace smartmig {

struct OrderedSchedule {
  double tardiness = kMipInfinity;  // sum over jobs
  std::vector<double> ends;
  std::vector<WholeRun> runs;  // what each job does, and when
};

// `ends`: approximate ends of the jobs; they give the order, including the positions of the releases. REQUIRES: no job
// ends before its release. Infinite tardiness if no schedule has that order.
OrderedSchedule best_in_order(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
                              const std::vector<double>& ends, int most_rounds = 8);

}  // namespace smartmig
