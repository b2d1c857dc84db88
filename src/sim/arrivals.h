// Submit times of the generators, and the random streams behind them. The arrivals of each hour and the properties of
// each job have their own streams. So the i-th job keeps its properties when the load changes, and an hour keeps its
// arrivals when only part of a day is generated.
#pragma once
#include <vector>

#include "base/rng.h"
#include "base/units.h"
#include "sim/workload_spec.h"

namespace smartmig {

// In increasing order. Daily profile: Poisson with a constant rate within each hour, exact since exponential gaps have
// no memory. Constant rate: spec.jobs exponential gaps.
std::vector<Time> arrivals(const WorkloadSpec& spec);

Rng job_stream(std::uint64_t seed, std::uint64_t job);

std::string arrivals_in_words(const WorkloadSpec& spec);
double days_of(const WorkloadSpec& spec);  // days of the daily profile; 0 at constant rate

}  // namespace smartmig
