// What `smartmig profile` measured on one slice size, over its repetitions, and the table rows made of it. Pure.
// Units: seconds, joules, watts, MiB.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig {

struct ProfileRun {  // one job that ended well on the size asked for
  std::string gpu, profile;
  double seconds = 0, joules = 0;
  int peak_mib = -1;
  double per_s = 0;  // by its progress; 0: it showed none
  std::string unit;
  double launch_s = -1;  // what its steps at that rate leave of its seconds; negative: it did not say how many
};

struct ProfileResult {  // medians of the runs of one size; the peak is the largest
  std::string gpu, profile;
  std::size_t runs = 0;
  double seconds = 0, spread = 0;  // spread: (largest - smallest) / median of the throughput
  double throughput = 0;
  std::string unit;
  double joules = 0, active_w = 0;  // attributed: above idle
  int peak_mib = -1;
  double launch_s = -1;
};
// By size, in the order of first appearance. The unit is that of the progress where every run of every size shows it in
// the same unit, else all go by wall time, as runs/s: throughputs of two sorts do not compare.
std::vector<ProfileResult> profile_results(const std::vector<ProfileRun>& runs);

std::string profile_speed_rows(const std::string& kind, const std::vector<ProfileResult>& results,
                               const std::string& source);
// Board watts of the job alone: idle of the power model and what the job was charged. An empty text where the power
// model of that GPU has no rows by kind; `why` then says so.
std::string profile_power_rows(const std::string& kind, const std::vector<ProfileResult>& results,
                               const std::string& power, const std::string& source, std::string& why);

// A table with `fresh` put into it: rows of the old one with the same values in `keys` go. Both have the same header,
// else the error says so; comments of the old one stay. An empty `old` is no table yet.
Result<std::string> merged_rows(const std::string& name, std::string_view old, std::string_view fresh,
                                const std::vector<std::string>& keys);

}  // namespace smartmig
