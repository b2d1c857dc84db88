// Describes the recognised formats and how a trace file was read, as text and JSON.
#pragma once
#include "model/workload.h"
#include "sim/traces/trace_reading.h"

namespace smartmig::cli {

void print_reading(const Workload& workload, const TraceReading& reading, bool json);
void print_formats(bool json);

}  // namespace smartmig::cli
