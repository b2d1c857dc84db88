// A Slurm cluster's own history, as `sacct -a -X -P` prints it: one line per job, columns by name, separated by '|'.
// Required: JobIDRaw or JobID, Submit, ElapsedRaw, State, AllocTRES or ReqTRES. A job's GPUs are `gres/gpu=N` of its
// TRES. Jobs without GPUs and jobs that never ran are dropped. Optional: Start (how long jobs waited), JobName (as the
// name of the model), and in lines of steps TRESUsageInMax (`gres/gpumem`; the largest is the job's memory).
// trace_jobs.h fills the gaps.
#pragma once
#include "base/file.h"
#include "sim/workload_spec.h"

namespace smartmig {

bool is_sacct_header(std::string_view line);
Result<Workload> read_sacct(LineReader lines, const LoadOptions& options = {});

}  // namespace smartmig
