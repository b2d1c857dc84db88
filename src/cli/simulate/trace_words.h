// How a trace file was understood, and which files are: for people and as JSON.
#pragma once
#include "model/workload.h"
#include "sim/traces/trace_reading.h"

namespace smartmig::cli {

void print_reading(const Workload& workload, const TraceReading& reading, bool json);
void print_formats(bool json);

}  // namespace smartmig::cli
