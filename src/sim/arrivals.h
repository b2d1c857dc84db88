// Submit times of the generators, and the random streams behind them. Arrivals of each hour and the properties of each
// job have a stream of their own: the i-th job keeps its properties when the load changes, an hour its arrivals when
// only part of a day is asked for.
#pragma once
#include <vector>

#include "base/rng.h"
#include "base/units.h"
#include "sim/workload_spec.h"

namespace smartmig {

// Increasing. Daily profile: Poisson with a rate constant within each hour, exact because exponential gaps have no
// memory. Constant rate: spec.jobs exponential gaps.
std::vector<Time> arrivals(const WorkloadSpec& spec);

Rng job_stream(std::uint64_t seed, std::uint64_t job);

std::string arrivals_in_words(const WorkloadSpec& spec);
double days_of(const WorkloadSpec& spec);  // days of the daily profile; 0 at constant rate

}  // namespace smartmig
