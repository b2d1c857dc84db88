// The two tables of `smartmig reproduce` that are about tardiness bounds of small cases. See reproduce.cc.
#pragma once
#include <cstdint>

namespace smartmig::cli {

struct Fig11Options {
  std::int64_t repetitions = 50;
  double slot_min = 0.5;
  double time_limit_s = 0;  // for each instance and bound, after the relaxation
  int threads = 1;
  bool json = false;
};
// Fig. 11 of the SMART-MIG paper: EDF most packed above the tardiness bound, 50 jobs on 4 GPUs in layout 8.
int reproduce_fig11(const Fig11Options& options);

// How tight each bound is where the optimum is known.
int reproduce_bounds_tiny(bool json, int threads);

}  // namespace smartmig::cli
