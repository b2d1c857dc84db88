// Chronus's traces: Philly's jobs with models and deadlines of their authors, all times in minutes. A deadline is the
// first of expect_time_list ("359" or "359-400"), a time after submit; best_effort 1 means that there is none.
#pragma once
#include "sim/traces/trace_formats.h"

namespace smartmig {

Result<Workload> read_chronus(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);

}  // namespace smartmig
