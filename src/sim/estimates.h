// What is told of jobs' run times in a simulation, where it is not the truth, as --estimates has it:
//
//   exact               the truth
//   lognormal:S[:BIAS]  BIAS times the truth, off by a factor that is lognormal with spread S (0.69: twice either way)
//   over:S              as users say it to be safe: never less than the truth, exp(S |z|) times as much
//   kind                what jobs of the kind take in the mean, as a geometric one
//   flat                what all jobs take in the mean
//   none                nothing
//
// With ",told" after it what is told is believed at a point; else the estimator (model/time_estimator.h) learns from the
// jobs that end and says what to believe.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/workload.h"

namespace smartmig {

struct EstimateRule {
  enum class Source { kExact, kLognormal, kOver, kKind, kFlat, kNone } source = Source::kExact;
  double spread = 0, bias = 1;
  bool learned = true;  // false: believed as told

  bool exact() const { return source == Source::kExact; }
};
Result<EstimateRule> parse_estimates(std::string_view text);
std::string to_string(const EstimateRule& rule);  // as parse_estimates reads it

// By job: how many times its true time is told. The same workload gives the same. REQUIRES: not exact, not kNone.
std::vector<double> told_factors(const EstimateRule& rule, const Workload& workload);

// The time by which runs are compared, in the logarithm of seconds: on the size on which the job is fastest.
double log_time(const Job& job);

}  // namespace smartmig
