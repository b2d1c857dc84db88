// Microsoft's Philly trace, cluster_job_log: a JSON list of jobs with status, vc, jobid, submitted_time and attempts
// [{start_time, end_time, detail: [{ip, gpus: [...]}]}]. Times may be null or the word None.
#pragma once
#include "sim/traces/trace_formats.h"

namespace smartmig {

Result<Workload> read_philly_json(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);

}  // namespace smartmig
