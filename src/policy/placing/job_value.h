// The value of a minute of a job's progress for the objective: the planner's learned cost-to-go.
//
// The objective is (sum of tardiness) + w * energy. In a running system, its derivative by a job's remaining work
// depends little on the job's size once the job is late, and falls quickly with its slack: work done now reduces the
// job's own lateness and, much more, the capacity that others will need. Let R be the job's least remaining time (on
// the fastest slice), s its time to the deadline, L the late jobs per compute slice of the fleet, and q how close to
// linear its speed is in slices (1: linear; less for jobs that gain little from large slices). Then:
//
//   urgency  u = clamp((lead R + margin - s) / (ramp R + ramp_min), 0, 1)
//   value    v = u (urgent + urgent_per_late L) max(0.05, 1 - sublinear (1 - q)) / (1 + R / long_min)
//   early    e = early + early_per_late L + saving E
//   pace     p = min(1, pace R / s)
//   gain         v (min(r, p) + beyond_pace max(0, r - p)) + e r     on a slice of relative speed r <= 1
//
// E is the energy (times w) of a minute of least time on the most efficient slice: the work must be paid for some day,
// so doing it cheaply now is worth that much. p is the speed that just meets the deadline; higher speed is worth less.
// Gains are minutes of tardiness per minute.
// The weights were found by search over training days at several loads (smartmig tune); the weight file names them.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

struct JobWeights {
  double urgent = 4.1132, urgent_per_late = 0.38236;
  double ramp = 0.52836, ramp_min = 0.035862;  // ramp_min, margin_min and long_min in minutes
  double lead = 2.3581, margin_min = 0.05033;
  double early = 0.6603, early_per_late = 0.024346, saving = 1;
  double pace = 1.1266, beyond_pace = 0.68058;
  double long_min = 16.969, sublinear = 1.1135;
};

// Name and member of every weight, for files, overrides and the search.
struct WeightField {
  const char* name;
  double JobWeights::*value;
};
std::span<const WeightField> weight_fields();

struct JobOutlook {
  double least_min = 0;  // least remaining time over the fleet's slices
  double slack_min = 0;  // deadline minus now
  double linearity = 1;  // q
  double energy = 0;     // E
};

class JobValue {
 public:
  JobValue(const JobWeights& weights, double late_per_slice)
      : weights_(weights),
        urgent_(weights.urgent + weights.urgent_per_late * late_per_slice),
        early_(1e-6 + weights.early + weights.early_per_late * late_per_slice) {}  // any progress has a value
  // Prepares a job. Then gain() is the value per minute of a slice of relative speed r.
  void look(const JobOutlook& job);
  double gain(double relative_speed) const {
    const double within = relative_speed < pace_ ? relative_speed : pace_;
    return value_ * (within + weights_.beyond_pace * (relative_speed - within)) + early_now_ * relative_speed;
  }
  double value() const { return value_; }
  double pace() const { return pace_; }

 private:
  JobWeights weights_;
  double urgent_, early_;
  double value_ = 0, pace_ = 1, early_now_ = 0;
};

// {"smartmig_planner": 1, "weights": {"urgent": 4.1, ...}, "workloads": [...], "seeds": [...]}; contains every weight.
struct WeightFile {
  JobWeights weights;
  std::string source;                  // how the weights were found, in words
  std::vector<std::string> workloads;  // the tuning workloads
  std::vector<std::uint64_t> seeds;
};
Result<WeightFile> parse_weight_file(const std::string& name, std::string_view text);
std::string to_json(const WeightFile& file);

}  // namespace smartmig
