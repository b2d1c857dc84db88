// Chronus's traces: Philly's jobs with the authors' models and deadlines, all times in minutes. A deadline is the first
// of expect_time_list ("359" or "359-400"), a time after submit. best_effort 1 means no deadline.
#pragma once
#include "sim/traces/trace_formats.h"

namespace smartmig {

Result<Workload> read_chronus(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);

}  // namespace smartmig
