// How many GPUs a workload keeps busy in its busiest hours, if every job had a whole GPU of its own at once: what a fleet
// is sized by (peak load = this over the number of GPUs).
#pragma once
#include "model/workload.h"

namespace smartmig {

// The greatest mean number of busy GPUs over any stretch of length `span`.
double peak_gpus(const Workload& workload, Time span = std::chrono::hours(6));

}  // namespace smartmig
