// Recorded traces in the common columns: submit_time_s, duration_s (on a whole GPU), num_gpus, gpu_milli, gpu_mem_mib,
// job_kind, deadline_s (an OFFSET after submit), context_tokens, generated_tokens; others are ignored. Empty is
// unknown. Streams the file. Gaps are filled by trace_jobs.h; a malformed number stops with file, line and column.
#pragma once
#include "base/file.h"
#include "sim/workload_spec.h"

namespace smartmig {

Result<Workload> read_trace_csv(LineReader lines, const LoadOptions& options = {});

}  // namespace smartmig
