// Readers of the recorded workloads that need more than a map of columns; each has a file of its own.
#pragma once
#include "sim/traces/trace_formats.h"

namespace smartmig {

// Alibaba's trace of 2026, table asi_opensource_pod_hourly: one row for each pod in each hour. It is published as
// Parquet; this reads a CSV with the same column names. A pod becomes one job: submitted in its first running hour,
// with duration GPU-hours / GPUs and the largest GPU memory of any hour.
Result<Workload> read_alibaba_hourly(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);

// Chronus's traces: Philly's jobs with the authors' models and deadlines, all times in minutes. A deadline is the first
// of expect_time_list ("359" or "359-400"), a time after submit. best_effort 1 means no deadline.
Result<Workload> read_chronus(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);

// Gavel's traces: one job per line, fields separated by tabs, no header. They record steps; a file of steps per second
// by worker type and model (--throughputs FILE[:WORKER], default worker v100) turns them into durations.
//   9 fields: job_type, command, num_steps_arg, needs_data_dir, total_steps, scale_factor, priority_weight, SLO,
//             arrival_time
//   7 fields: job_type, command, num_steps_arg, needs_data_dir, total_steps, arrival_time, scale_factor
//   6 fields: the same without needs_data_dir
bool looks_like_gavel(const std::vector<std::string_view>& fields, char delimiter);
Result<Workload> read_gavel(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);
// The same with the throughputs as text.
Result<Workload> read_gavel_rows(const TraceSource& source, const std::string& throughputs_name,
                                 std::string_view throughputs, const std::string& worker, const LoadOptions& options);

// Microsoft's Philly trace, cluster_job_log: a JSON list of jobs with status, vc, jobid, submitted_time and attempts
// [{start_time, end_time, detail: [{ip, gpus: [...]}]}]. Times may be null or the word None.
Result<Workload> read_philly_json(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);

// Workloads of Sia and Pollux: arrival, application and batch size of each job. They record no durations. Their
// schedulers choose how many GPUs a job gets, so this reader ignores `num_replicas`: a job is its whole application on
// one GPU. The durations come from ElasticFlow's copy of the same applications.
Result<Workload> read_sia(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);

}  // namespace smartmig
