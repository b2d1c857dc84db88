// The number of GPUs that a workload keeps busy in its busiest hours, if every job had a whole GPU at once. It sizes
// fleets: peak load = this / number of GPUs.
#pragma once
#include "model/workload.h"

namespace smartmig {

// The greatest mean number of busy GPUs over any stretch of length `span`.
double peak_gpus(const Workload& workload, Time span = std::chrono::hours(6));

}  // namespace smartmig
