// A table whose rows are jobs, read by a map of its columns (trace_map.h). Streams the file. trace_jobs.h fills what a
// row leaves open. A malformed number is an error with file, line and column. A format that needs more than its columns
// (durations by model, steps per second) sets a hook.
#pragma once
#include <functional>

#include "base/csv.h"
#include "sim/trace_jobs.h"
#include "sim/traces/trace_map.h"

namespace smartmig {

struct TraceRowHook {
  // Sees every row after its columns were read, and may change the job. `batch` is the map's.
  std::function<Result<Ok>(const CsvReader& row, std::string_view batch, TraceJob& job)> row;
  std::string note;        // rule to state, if any
  bool durations = false;  // whether the hook gives durations
  std::string deadlines;   // the columns from which the hook gives deadlines
};

Result<Workload> read_trace_rows(CsvReader csv, const TraceMap& map, const LoadOptions& options,
                                 const TraceRowHook& hook = {});

}  // namespace smartmig
