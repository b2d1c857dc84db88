// A bound needs the least time that a job can take. Where neighbours slow it (Job::crowding) its table holds the time beside
// some of them, and alone it may take less: such workloads have no bound, and whoever asks is told so.
#pragma once
#include "base/errors.h"
#include "model/job_table.h"

namespace smartmig {

inline Result<Ok> require_least_times(const JobTable& jobs) {
  if (!jobs.has_crowding()) return Ok{};
  return unsupported(
      "no bound is known where neighbours slow each other (log_slowdown of a job file, soft slices): alone a job may "
      "take less than its table says");
}

}  // namespace smartmig
