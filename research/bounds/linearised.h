// The linearised jobs of the SMART-MIG paper: p[i] := p[1] / i, as if any number of slices worked on one job without
// loss. A job is then an amount of slice-time. Every schedule of the true jobs is one of the linearised ones that does
// at least as much work at every moment, provided that no job is faster on k slices than k times its speed on one. That
// premise is checked: superlinear jobs and jobs without a time on one slice are refused. Times are whole microseconds,
// so k * p[k] may fall short of p[1] by rounding; the least of them is used.
#pragma once
#include <string_view>
#include <vector>

#include "model/job_table.h"

namespace smartmig {

struct LinearJob {
  double release_s = 0;
  double slice_s = 0;  // work in slice-seconds
};

// By JobId. `bound` names the caller in error sentences: "the paper's energy bound".
Result<std::vector<LinearJob>> linearise(const Platform& platform, const JobTable& jobs, std::string_view bound);

}  // namespace smartmig
