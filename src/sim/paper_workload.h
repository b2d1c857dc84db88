// SMART-MIG's synthetic day (arXiv 2606.29775; constants from its simulation): 80 % inference jobs whose time on a 1g
// slice is exponential with mean 3 min, 20 % training jobs with lognormal time (5 % under 40 min, 5 % over 60 min); in
// both classes 2/3 BERT and 1/3 ResNet-50. p[k] = p[1] * throughput[1] / throughput[k].
#pragma once
#include "base/rng.h"
#include "sim/workload_spec.h"

namespace smartmig {

Result<Workload> paper_workload(const WorkloadSpec& spec);

// The same class and duration draws serve the other generators.
bool draw_training(Rng& rng);
double draw_minutes_1g(Rng& rng, bool training);

}  // namespace smartmig
