// Alibaba's trace of 2026, table asi_opensource_pod_hourly: one row for each pod in each hour. Published as Parquet; a
// CSV with the same column names is read. A pod becomes one job: submitted in the first hour in which it runs, as long
// as its GPU-hours over its GPUs, with the most GPU memory of any hour.
#pragma once
#include "sim/traces/trace_formats.h"

namespace smartmig {

Result<Workload> read_alibaba_hourly(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);

}  // namespace smartmig
