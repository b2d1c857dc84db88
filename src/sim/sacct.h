// A Slurm cluster's own history, as `sacct -a -X -P` prints it: one line a job, columns by name, separated by '|'.
// Needed: JobIDRaw or JobID, Submit, ElapsedRaw, State, AllocTRES or ReqTRES. A job's GPUs are `gres/gpu=N` of its TRES;
// jobs without one are left out, as are those that never ran. Used where they are: Start (how long jobs waited), JobName
// (as the name of the model), and of lines of steps TRESUsageInMax (`gres/gpumem`, the most of them is the job's memory).
// Gaps: trace_jobs.h.
#pragma once
#include "base/file.h"
#include "sim/workload_spec.h"

namespace smartmig {

bool is_sacct_header(std::string_view line);
Result<Workload> read_sacct(LineReader lines, const LoadOptions& options = {});

}  // namespace smartmig
