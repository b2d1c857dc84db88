// trace.json in the Chrome trace format, for ui.perfetto.dev and chrome://tracing: GPUs are processes (pid = GPU + 1),
// slice starts are threads (tid = start + 1; ids of 0 mean the idle task there), each stay of a job on a slice is a
// complete event, watts and queue length are counters. Times are microseconds, as in the journal.
#pragma once
#include <string>

#include "report/timeline.h"

namespace smartmig {

std::string trace_json(const RunRecord& run, const Timeline& line);

}  // namespace smartmig
