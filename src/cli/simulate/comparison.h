// A comparison of policies over paired days, ready to print: one row per policy, differences against one of them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bound/certificate_make.h"
#include "eval/experiment.h"
#include "eval/statistics.h"
#include "report/compare_report.h"

namespace smartmig::cli {

struct ComparisonRow {
  std::string label;
  double energy_wmin = 0, energy_kwh = 0, tardiness_min = 0, p99_min = 0, et = 0;
  double tardiness_deviation = 0;
  double late_percent = 0, preemptions = 0, repartitions = 0;
  Difference et_difference, energy_difference, tardiness_difference;
};

struct Comparison {
  std::optional<ProvenBounds> bounds;  // means over the days
  std::string gpus, workload, cost, power;
  double a = 0, a_eff = 0;
  std::vector<std::uint64_t> seeds;
  std::size_t baseline = 0;
  double jobs = 0;  // mean per day
  std::vector<ComparisonRow> rows;
};

Comparison make_comparison(const Setting& setting, const std::vector<Contender>& contenders,
                           const std::vector<std::vector<Summary>>& runs, const std::vector<std::uint64_t>& seeds,
                           std::size_t baseline);
std::string signed_percent(const Difference& difference);  // "+1.2 ± 0.3 %"
std::string comparison_text(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);
// The same as a page, to be given curves or written.
smartmig::Comparison page_of(const Comparison& comparison, std::string title, std::string note);
Result<Ok> write_comparison_page(const std::string& path, const Comparison& comparison, bool force);

// Proven lower bounds of every day, and their means.
Result<ProvenBounds> mean_bounds(const Setting& setting, const std::vector<std::uint64_t>& seeds, int threads);

// "34.1 %": value / bound - 1; empty where the bound is not positive.
std::string gap_text(double value, double bound);

// "static[1,2]+cedf,none+edf" at the commas outside brackets.
std::vector<std::string> split_policies(std::string_view text);

}  // namespace smartmig::cli
