// The report of `smartmig reproduce learning`: errors of predicted times by number of runs (learning_curves.h), and
// what the queue loses by what it does not know (learning_queue.h).
#pragma once
#include "base/result.h"
#include "research/papers/paper_report.h"

namespace smartmig {

struct LearningOptions {
  std::int64_t commands = 200;  // for the errors; sites of 25
  std::int64_t sites = 8;       // for the queue, each of 25 commands
  std::int64_t rounds = 5;      // per site
  std::int64_t first_seed = 200'000;
  double noise = 0.05;  // in the logarithm of a run's time
};
Result<Ok> check_options(const LearningOptions& options);
Result<PaperReport> learning_report(const LearningOptions& options, const PaperProgress& progress);

}  // namespace smartmig
