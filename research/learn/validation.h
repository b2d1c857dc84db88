// Evaluates the present policy between updates, on validation days and against a baseline on the same days. The
// baseline runs once.
#pragma once
#include <memory>
#include <vector>

#include "research/learn/env.h"
#include "research/learn/training.h"
#include "research/learn/worker_pool.h"

namespace smartmig {

class Validation {
 public:
  Validation(const TrainConfig& config, std::shared_ptr<const EnvSetup> setup, WorkerPool& pool)
      : config_(config), setup_(std::move(setup)), pool_(pool) {}
  Result<EvalReport> run(const PolicyFile& file, Sampling sampling);

 private:
  struct Day {
    TrainingDay day;
    double baseline_et = 0;
  };
  TrainConfig config_;
  std::shared_ptr<const EnvSetup> setup_;
  WorkerPool& pool_;
  std::vector<Day> days_;
};

}  // namespace smartmig
