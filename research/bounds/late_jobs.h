// The jobs and machines of the tardiness program (tardiness_mip.h), made from a workload and a platform.
// tardiness_mip.cc uses them to prove that no schedule is better, tardiness_search.h to find a good one. Units:
// minutes.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "research/bounds/linearised.h"
#include "research/bounds/tardiness_mip.h"

namespace smartmig {

inline constexpr const char* kTardinessName = "the paper's tardiness bound";

struct Machines {
  int slices = 0;
  TypeId type{};
  int count = 0;
};

struct LateJob {
  double release, deadline;         // minutes
  std::vector<double> speeds;       // by class of machines: share of the job done per minute; 0: it does not run there
  double fastest = 0, slowest = 0;  // minutes of the whole job
  double second = 0;                // time on the second-fastest class; equal to fastest if there is one class
  double least = 0;                 // tardiness that no schedule avoids; the deadline is moved by it
  // g in tardiness_mip.h: the least that a share of the work done at `at` adds to the tardiness.
  double price(double at, double theta) const {
    return std::max(0.0, fastest * (std::floor((at - deadline + theta) / fastest) + 1)) - theta;
  }
  // f in tardiness_mip.h, and its slope: the least time before its end at which the job's work is done on average.
  double lead(double fast) const { return second / 2 * (1 - fast) * (1 - fast) + fastest * fast * (1 - fast / 2); }
  double lead_slope(double fast) const { return -(second - fastest) * (1 - fast); }
};

// The slices of the layouts, or the whole GPUs.
Result<std::vector<Machines>> make_machines(const Platform& platform, const TardinessOptions& options);
// A job with its speeds on the machines; no speeds if it has no work. `linear`: null uses its own speeds.
Result<LateJob> make_job(const JobTable& jobs, JobId id, const LinearJob* linear,
                         const std::vector<Machines>& machines);

}  // namespace smartmig
