// Searches the planner's weights on training days: an evolution strategy with a step size per weight (separable CMA-ES,
// Ros and Hansen 2008), in the logarithm of the weights. A candidate's score is the mean over days of its ET / the ET
// of the starting weights on the same day, so no load outweighs another. Deterministic: one seed gives one result for
// any number of threads.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "eval/experiment.h"

namespace smartmig {

struct TuneSet {  // days of one workload: seeds of a generator or windows of a file
  Setting setting;
  std::vector<std::uint64_t> days;
};

struct TuneOptions {
  std::vector<TuneSet> sets;
  JobWeights start;
  int evaluations = 200;
  int population = 8;
  double step = 0.25;  // in the logarithm
  std::uint64_t seed = 1;
  int threads = 1;
};

struct TuneOutcome {
  JobWeights weights;
  double score = 1;  // relative to the start
  int evaluations = 0;
};

// `tell` receives (evaluations done, best score so far).
Result<TuneOutcome> tune_planner(const TuneOptions& options,
                                 const std::function<void(int, double, const JobWeights&)>& tell = {});

}  // namespace smartmig
