// MIGM's experiment (arXiv 2508.18556) on emulated A100s, through the whole daemon: batches of jobs of unknown memory
// (migm_batches.h) under one job at a time, MIGM's two schedulers and ours, each run by batch_experiment.h.
#pragma once
#include "base/result.h"
#include "papers/paper_report.h"

namespace smartmig {

struct MigmOptions {
  std::string gpus = "1xa100-40gb";
  std::string batch;                  // one batch or group only
  std::int64_t batches = 5;           // seeds
  std::int64_t jobs = 28;             // of a batch
  std::int64_t first_seed = 205'000;  // of the report seeds those that nothing was set by
};
// kInvalid: GPUs that the curves are not of, or a batch that is not known.
Result<Ok> check_options(const MigmOptions& options);
Result<PaperReport> migm_report(const MigmOptions& options, const PaperProgress& progress);

}  // namespace smartmig
