// Workloads of Sia and Pollux: which application comes when, with which batch size. They record no durations: the
// schedulers they were made for choose how many GPUs a job gets, so `num_replicas` binds nobody here, and a job is the
// whole of its application on one GPU. How long that takes is in ElasticFlow's copy of the same applications.
#pragma once
#include "sim/traces/trace_formats.h"

namespace smartmig {

Result<Workload> read_sia(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);

}  // namespace smartmig
