// Queues for comparing speed curves: the three illustrative curves of SMART-MIG's Fig 3 (linear, sublinear, capped),
// one of them or an equal mix, with the classes and 1g durations of the paper's day.
#pragma once
#include "sim/workload_spec.h"

namespace smartmig {

Result<Workload> fixed_workload(const WorkloadSpec& spec);

}  // namespace smartmig
