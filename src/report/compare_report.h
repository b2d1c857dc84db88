// A page that compares policies: the table, energy against tardiness, change against the baseline with its confidence
// interval, and if given a small power curve of one run each.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smartmig {

struct PolicyResult {
  std::string name;
  double energy_kwh = 0, mean_tardiness_min = 0, p99_tardiness_min = 0, et = 0;
  std::optional<double> late_percent;
  // ET against the baseline in percent, with the ends of its interval; negative is better. None for the baseline
  // itself.
  std::optional<double> change_percent, change_low, change_high;
  bool baseline = false;
  std::vector<std::pair<double, double>> power;  // (seconds, watts) steps of the fleet; see power_curve()
  double end_s = 0;                              // where the last step ends
};

struct ComparisonPage {
  std::string title, note;                                 // note: one plain sentence under the title
  std::vector<std::pair<std::string, std::string>> facts;  // workload, GPUs, seeds, ...
  std::vector<PolicyResult> policies;                      // in the order of display
  std::string interval;                                    // describes the interval: "95 % over 30 paired seeds"
  std::optional<double> energy_bound_kwh, et_bound;        // proven lower bounds
  std::string version, command;
};

std::string compare_report(const ComparisonPage& comparison);

}  // namespace smartmig
