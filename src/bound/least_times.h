// A bound needs the least time that a job can take. If neighbours slow it (Job::crowding), its table holds the time
// with some of them, and alone it may take less. Such workloads have no bound, and the caller gets an error.
#pragma once
#include "base/errors.h"
#include "model/job_table.h"

namespace smartmig {

inline Result<Ok> require_least_times(const JobTable& jobs) {
  if (!jobs.has_crowding()) return Ok{};
  return unsupported(
      "there is no bound where neighbours slow each other (log_slowdown of a job file, soft "
      "slices)");
}

}  // namespace smartmig
