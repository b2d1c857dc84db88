// Job lists of MIGBench (github.com/FouoF/MIG-scheduler-benchmark), JSON lines with jobID, arrivalMS, computeCoreMS and
// memoryMB. It models an H100-80GB: profiles 1g.10gb, 2g.20gb, 3g.40gb and 7g.80gb have 14, 28, 42 and 100 percent of
// the compute and 10240, 20480, 40960 and 81920 MB. A job takes computeCoreMS / percent, rounded up to a millisecond,
// on a profile whose memory holds it, and runs on no other (4g is not among the profiles). The open sizes express the
// memory need, not an amount, since real profiles have less than their name says. Lines with `profile` and `durationMS`
// run on that profile alone. A job has a deadline only if the line gives deadlineMS.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/traces/trace_formats.h"

namespace smartmig {

struct MigbenchProfile {
  std::string_view name;
  int slices, percent, memory_mb;
};
const std::vector<MigbenchProfile>& migbench_profiles();

struct MigbenchJob {
  std::int64_t arrival_ms = 0, compute_core_ms = 0;
  int memory_mb = 0;
};
Job to_job(const MigbenchJob& job);

Result<Workload> read_migbench(const TraceSource& source, const TraceFormat& format, const LoadOptions& options);

}  // namespace smartmig
