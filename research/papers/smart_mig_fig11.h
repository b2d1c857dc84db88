// Fig. 11 of the SMART-MIG paper: EDF most packed above the tardiness bound, 50 jobs on 4 GPUs in layout 8. It shows
// two readings of "bound": the relaxation of a time-indexed program (tardiness_mip.h), which is near the printed per
// cents, and the bound of whole runs (tardiness_runs.h), which meets the best schedule and so shows how far EDF is from
// the optimum.
#pragma once
#include "base/result.h"
#include "research/papers/paper_report.h"

namespace smartmig {

struct Fig11Options {
  std::int64_t repetitions = 50;  // report seeds
  double slot_min = 1;
  double time_limit_s = 0;     // for the program of each instance and bound, after its relaxation
  std::int64_t branches = 60;  // for the bound of whole runs of each instance and bound
  int search_steps = 40'000;   // orders tried for a good schedule with each bound
  int threads = 1;
};
Result<PaperReport> fig11_report(const Fig11Options& options, const PaperProgress& progress);

}  // namespace smartmig
