// Batsim's workload file:
//   {"jobs": [{"id", "subtime", "res", "profile", "walltime"}], "profiles": {NAME: {"type": "delay", "delay": s}}}
// The duration is the profile's delay. For profiles of another type (cpu, com: amounts of work, no time) it is the
// job's walltime. `res` counts GPUs. The profile's name selects the kind. trace_jobs.h fills the gaps.
#pragma once
#include <string>
#include <string_view>

#include "sim/workload_spec.h"

namespace smartmig {

Result<Workload> read_batsim_json(const std::string& name, std::string_view text, const LoadOptions& options = {});

}  // namespace smartmig
