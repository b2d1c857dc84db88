// What `smartmig profile` measured on one slice size over its repetitions, and the table rows made from it. Pure.
// Units: seconds, joules, watts, MiB.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig {

struct ProfileRun {  // one job that ended well on the requested size
  std::string gpu, profile;
  double seconds = 0, joules = 0;
  int peak_mib = -1;
  double per_s = 0;  // rate of its progress; 0: it showed none
  std::string unit;
  double launch_s = -1;  // its seconds less its steps at that rate; negative: it did not say how many steps
};

struct ProfileResult {  // medians over the runs of one size; the peak is the largest
  std::string gpu, profile;
  std::size_t runs = 0;
  double seconds = 0, spread = 0;  // spread: (largest - smallest) / median of the throughput
  double throughput = 0;
  std::string unit;
  double joules = 0, active_w = 0;  // attributed: above idle
  int peak_mib = -1;
  double launch_s = -1;
};
// By size, in order of first appearance. The unit is that of the progress if every run of every size shows the same
// one. Otherwise all use wall time, as runs/s, since throughputs in different units do not compare.
std::vector<ProfileResult> profile_results(const std::vector<ProfileRun>& runs);

std::string profile_speed_rows(const std::string& kind, const std::vector<ProfileResult>& results,
                               const std::string& source);
// Board watts of the job alone: the power model's idle plus the job's charge. Returns an empty text if that GPU's power
// model has no rows by kind; `why` then says so.
std::string profile_power_rows(const std::string& kind, const std::vector<ProfileResult>& results,
                               const std::string& power, const std::string& source, std::string& why);

// Merges `fresh` into a table: drops old rows with the same values in `keys`. Both must have the same header, else it
// is an error. Comments of the old table stay. An empty `old` is no table yet.
Result<std::string> merged_rows(const std::string& name, std::string_view old, std::string_view fresh,
                                const std::vector<std::string>& keys);

}  // namespace smartmig
