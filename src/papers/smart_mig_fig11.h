// Fig. 11 of the SMART-MIG paper: EDF most packed above the tardiness bound, 50 jobs on 4 GPUs in layout 8.
#pragma once
#include "base/result.h"
#include "papers/paper_report.h"

namespace smartmig {

struct Fig11Options {
  std::int64_t repetitions = 50;  // report seeds
  double slot_min = 1;
  double time_limit_s = 0;    // for each instance and bound, after the relaxation
  int search_steps = 40'000;  // orders tried for a good schedule beside each bound
  int threads = 1;
};
Result<PaperReport> fig11_report(const Fig11Options& options, const PaperProgress& progress);

}  // namespace smartmig
