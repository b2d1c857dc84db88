// How many GPUs does a workload need? Runs it on fleets of growing size and answers by one target:
//   tardiness     the first fleet whose mean tardiness is at most the target
//   utilisation   the largest fleet whose slices are still busy for that share of the time
//   price         the fleet with the least total cost of GPUs, joules and lateness
// It also shows the knee of mean tardiness against the number of GPUs (the point of the curve farthest below the chord
// between its ends). The knee decides nothing: hours of lateness may remain there. The fleet grows until the target is
// decided or max_gpus is reached. Fleets are compared with a_eff = a * 8 / (gpus * days).
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eval/experiment.h"
#include "model/prices.h"

namespace smartmig {

struct SizePrices {
  double gpu_hour = 0;
  EnergyPrices others;  // of a kilowatt-hour, and of an hour of lateness of one job
};

struct SizingTarget {
  enum class Of { kTardiness, kUtilisation, kPrice } of = Of::kTardiness;
  double tardiness_min = 1;  // at most
  double utilisation = 0.5;  // at least; 0 to 1
};

struct SizingQuestion {
  std::string workload, model, power = "auto";
  LoadOptions load;
  CostModel cost;
  std::optional<double> a;  // as in Setting
  Contender contender;
  std::vector<std::uint64_t> seeds;  // a generator's; a file is one day
  int max_gpus = 24, threads = 1;
  SizingTarget target;
  std::optional<SizePrices> prices;  // required by the target price; otherwise only for the column
};

struct SizeRow {
  int gpus = 0;
  double energy_wmin = 0, energy_kwh = 0, tardiness_min = 0, late_percent = 0, utilisation = 0, a_eff = 0;
  double et_eff = 0;  // a_eff e + t, with each fleet's a_eff
  double cost = 0;    // per day (per file), in the prices' currency; 0 without prices
};

struct SizingAnswer {
  std::vector<SizeRow> rows;
  int knee = 0;
  std::optional<int> needed;  // none: no fleet reaches the target
  double peak_gpus = 0;       // GPUs busy in the busiest 6 h if every job had one at once; the largest over the days
  std::string rule;           // in words
};

Result<SizingAnswer> find_size(const SizingQuestion& question, const std::function<void(double)>& progress = {});

int knee_of(const std::vector<SizeRow>& rows);

}  // namespace smartmig
