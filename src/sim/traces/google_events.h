// Google's cluster trace of 2011, table job_events: one line for each event of a job (SUBMIT 0, SCHEDULE 1, EVICT 2,
// FAIL 3, FINISH 4, KILL 5, LOST 6, UPDATE 7 and 8), times in microseconds. The trace has no GPUs: each job counts as
// one GPU from its first SCHEDULE to its end. Jobs whose submit or end lies outside the file have no duration.
#pragma once
#include "sim/traces/trace_formats.h"

namespace smartmig {

bool looks_like_google_events(const std::vector<std::string_view>& fields, char delimiter);
Result<Workload> read_google_events(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);

}  // namespace smartmig
