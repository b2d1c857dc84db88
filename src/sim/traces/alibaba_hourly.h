// Alibaba's trace of 2026, table asi_opensource_pod_hourly: one row for each pod in each hour. It is published as
// Parquet; this reads a CSV with the same column names. A pod becomes one job: submitted in its first running hour,
// with duration GPU-hours / GPUs and the largest GPU memory of any hour.
#pragma once
#include "sim/traces/trace_formats.h"

namespace smartmig {

Result<Workload> read_alibaba_hourly(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);

}  // namespace smartmig
