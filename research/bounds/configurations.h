// Everything a small fleet can do at one moment: which job runs on which slice type. For exact.h. The list grows
// steeply with jobs and GPUs.
#pragma once
#include <vector>

#include "model/job_table.h"

namespace smartmig {

struct Configuration {
  std::vector<double> minutes;  // by job: time of the whole job at its speed here; 0: it does not run
  std::uint32_t running = 0;    // bit j: job j
  double watts = 0;             // over all boards
};

// The undominated ones: no other runs the same jobs, none slower, for no more watts. The idle one comes first. Jobs
// without work never run. REQUIRES: at most 32 jobs.
std::vector<Configuration> configurations(const Platform& platform, const JobTable& jobs);

}  // namespace smartmig
