// Batsim's workload file:
//   {"jobs": [{"id", "subtime", "res", "profile", "walltime"}], "profiles": {NAME: {"type": "delay", "delay": s}}}
// The duration is the profile's delay; profiles of another type (cpu, com: amounts of work, no time) take the job's
// walltime. `res` counts GPUs. Kinds are looked up by the profile's name. Gaps are filled by trace_jobs.h.
#pragma once
#include <string>
#include <string_view>

#include "sim/workload_spec.h"

namespace smartmig {

Result<Workload> read_batsim_json(const std::string& name, std::string_view text, const LoadOptions& options = {});

}  // namespace smartmig
