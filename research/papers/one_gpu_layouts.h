// Two tables of the paper on one MIG GPU (arXiv 2606.25082): its four placing rules on each fixed configuration, and
// the configurations that a controller prefers by hour and by queue.
#pragma once
#include <vector>

#include "base/result.h"
#include "research/papers/one_gpu.h"

namespace smartmig {

// ET of every rule on every configuration of the papers, for one load.
Result<PaperSection> rules_by_configuration(const char* load, double a, const OneGpuOptions& options);
// Share of time in each configuration, by hour of day and by unfinished jobs, for the network and the planner.
Result<std::vector<PaperSection>> layouts_by_hour_and_queue(const char* load, double a, const OneGpuOptions& options);

}  // namespace smartmig
