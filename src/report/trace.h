// trace.json in the Chrome trace format, for ui.perfetto.dev and chrome://tracing. GPUs are processes (pid = GPU + 1).
// Slice starts are threads (tid = start + 1; id 0 means the idle task there). Each stay of a job on a slice is a
// complete event. Watts and queue length are counters. Times are microseconds, as in the journal.
#pragma once
#include <string>

#include "report/timeline.h"

namespace smartmig {

std::string trace_json(const RunRecord& run, const Timeline& line);

}  // namespace smartmig
