// A table whose rows are jobs, read by a map of its columns (trace_map.h). Streams the file. What a row leaves open is
// filled by trace_jobs.h; a malformed number stops with file, line and column. A format that needs more than its
// columns say (durations by model, steps per second) gives a hook.
#pragma once
#include <functional>

#include "base/csv.h"
#include "sim/trace_jobs.h"
#include "sim/traces/trace_map.h"

namespace smartmig {

struct TraceRowHook {
  // Sees every row after its columns were read and may change the job. `batch` is the map's.
  std::function<Result<Ok>(const CsvReader& row, std::string_view batch, TraceJob& job)> row;
  std::string note;        // rule to state, if any
  bool durations = false;  // the hook gives them
  std::string deadlines;   // the hook gives them, from these columns
};

Result<Workload> read_trace_rows(CsvReader csv, const TraceMap& map, const LoadOptions& options,
                                 const TraceRowHook& hook = {});

}  // namespace smartmig
