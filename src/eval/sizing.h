// How many GPUs does a workload need? Runs it on fleets of growing size and looks for the knee of mean tardiness
// against the number of GPUs (the point of the curve farthest below the chord between its ends), or for the first fleet
// that keeps a target. The fleet grows until tardiness is gone or max_gpus is reached. Fleets are compared with a_eff =
// a * 8 / (gpus * days).
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eval/experiment.h"

namespace smartmig {

struct SizingQuestion {
  std::string workload, model, power = "auto";
  LoadOptions load;
  CostModel cost;
  std::optional<double> a;  // as in Setting
  Contender contender;
  std::vector<std::uint64_t> seeds;  // of a generator; a file is one day
  int max_gpus = 24, threads = 1;
  double target_tardiness_min = -1;  // negative: the knee
};

struct SizeRow {
  int gpus = 0;
  double energy_wmin = 0, energy_kwh = 0, tardiness_min = 0, late_percent = 0, utilisation = 0, a_eff = 0;
  double et_eff = 0;  // a_eff e + t, the a_eff of each fleet
};

struct SizingAnswer {
  std::vector<SizeRow> rows;
  int knee = 0;
  std::optional<int> needed;  // none: the target is not reached
  std::string rule;           // in words
};

Result<SizingAnswer> find_size(const SizingQuestion& question, const std::function<void(double)>& progress = {});

int knee_of(const std::vector<SizeRow>& rows);

}  // namespace smartmig
