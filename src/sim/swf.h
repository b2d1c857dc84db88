// The Standard Workload Format of the Parallel Workloads Archive: 18 numbers per line, ';' comments, -1 unknown. Fields
// used: 1 job number, 2 submit, 4 run time, 5 processors allocated (else 8, requested), 11 status. A processor counts
// as one GPU. Partial executions (status 2, 3, 4) are part of another line and dropped. trace_jobs.h fills the gaps.
#pragma once
#include "base/file.h"
#include "sim/workload_spec.h"

namespace smartmig {

Result<Workload> read_swf(LineReader lines, const LoadOptions& options = {});

}  // namespace smartmig
