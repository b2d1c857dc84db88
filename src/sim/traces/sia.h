// Workloads of Sia and Pollux: arrival, application and batch size of each job. They record no durations. Their
// schedulers choose how many GPUs a job gets, so this reader ignores `num_replicas`: a job is its whole application on
// one GPU. The durations come from ElasticFlow's copy of the same applications.
#pragma once
#include "sim/traces/trace_formats.h"

namespace smartmig {

Result<Workload> read_sia(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);

}  // namespace smartmig
