// Gavel's traces: one job per line, fields separated by tabs, no header. They record steps; a file of steps per second
// by worker type and model (--throughputs FILE[:WORKER], default worker v100) turns them into durations.
//   9 fields: job_type, command, num_steps_arg, needs_data_dir, total_steps, scale_factor, priority_weight, SLO,
//             arrival_time
//   7 fields: job_type, command, num_steps_arg, needs_data_dir, total_steps, arrival_time, scale_factor
//   6 fields: the same without needs_data_dir
#pragma once
#include "sim/traces/trace_formats.h"

namespace smartmig {

bool looks_like_gavel(const std::vector<std::string_view>& fields, char delimiter);
Result<Workload> read_gavel(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);
// The same with the throughputs as text.
Result<Workload> read_gavel_rows(const TraceSource& source, const std::string& throughputs_name,
                                 std::string_view throughputs, const std::string& worker, const LoadOptions& options);

}  // namespace smartmig
