// What a simulation tells about jobs' run times instead of the truth, as --estimates has it:
//
//   exact               the truth
//   lognormal:S[:BIAS]  BIAS times the truth, times a lognormal factor with spread S (0.69: twice either way)
//   over:S              as cautious users say: never less than the truth, exp(S |z|) times as much
//   kind                the geometric mean of the kind's jobs
//   flat                the geometric mean of all jobs
//   none                nothing
//
// With ",told" appended, the told time is believed as a single value. Otherwise the estimator (model/time_estimator.h)
// learns from the jobs that end and decides what to believe.
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
  bool learned = true;  // false: told times are believed

  bool exact() const { return source == Source::kExact; }
};
Result<EstimateRule> parse_estimates(std::string_view text);
std::string to_string(const EstimateRule& rule);  // in the form that parse_estimates reads

// By job: told time / true time. The same workload gives the same factors. REQUIRES: not exact, not kNone.
std::vector<double> told_factors(const EstimateRule& rule, const Workload& workload);

// The time that serves to compare runs, as the logarithm of seconds: on the size on which the job is fastest.
double log_time(const Job& job);

}  // namespace smartmig
