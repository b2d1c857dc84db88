// Compares policies over paired days: one row per policy with its means, differences from one of them, and on request
// proven bounds of the days.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bound/certificate_make.h"
#include "eval/experiment.h"
#include "eval/statistics.h"

namespace smartmig {

struct ComparisonRow {
  std::string label;
  double energy_wmin = 0, energy_kwh = 0, tardiness_min = 0, p99_min = 0, et = 0;
  double wait_min = 0, turnaround_min = 0;  // from submit to the first start; from submit to the end
  double tardiness_deviation = 0;
  double late_percent = 0, preemptions = 0, repartitions = 0;
  Difference et_difference, energy_difference, tardiness_difference;
};

struct Comparison {
  std::optional<ProvenBounds> bounds;  // means over the days
  std::string gpus, workload, cost, power;
  std::string estimates;  // what policies are told about run times; empty: the truth
  std::string restart;    // the requested rule; empty: the workload's own restart costs
  double a = 0, a_eff = 0;
  std::vector<std::uint64_t> seeds;  // of the days; window numbers if window_days is set
  std::string days;                  // the same in words
  std::optional<double> window_days;
  std::size_t baseline = 0;
  double jobs = 0;  // mean per day
  std::vector<ComparisonRow> rows;
};

// `runs`: the result of run_paired. `baseline` is one of the contenders.
Comparison make_comparison(const Setting& setting, const std::vector<Contender>& contenders,
                           const std::vector<std::vector<Summary>>& runs, const std::vector<std::uint64_t>& seeds,
                           std::size_t baseline);

// Proven lower bounds of every day, and their means. Several threads may call `progress`, one at a time.
Result<ProvenBounds> mean_bounds(const Setting& setting, const std::vector<std::uint64_t>& seeds, int threads,
                                 const std::function<void(double)>& progress = {});

// "34.1 %": value / bound - 1; empty if the bound is not positive.
std::string gap_text(double value, double bound);

}  // namespace smartmig
