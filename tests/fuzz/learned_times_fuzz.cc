// Learned run times: never crashes, and what is accepted is written and read again alike, and goes on learning.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "fuzz/target.h"
#include "queue/learning/learned_times.h"

SMARTMIG_FUZZ_TARGET(learned_times) {
  using namespace smartmig;
  if (const auto learned = LearnedTimes::parse("fuzz", {reinterpret_cast<const char*>(data), size})) {
    const auto read = LearnedTimes::parse("again", learned->to_json());
    SMARTMIG_CHECK(read && read->to_json() == learned->to_json(), "written differently");
  }
  auto times = TimeEstimator::parse("fuzz", {reinterpret_cast<const char*>(data), size}, {400, 100});
  if (!times) return 0;  // the same without what LearnedTimes adds
  const auto again = TimeEstimator::parse("again", times->to_json(), {400, 100});
  SMARTMIG_CHECK(bool(again), "{}", again.error().what);
  SMARTMIG_CHECK(again->to_json() == times->to_json(), "written differently");
  const std::string groups[] = {"", "1000", "1000 train"};
  for (const std::optional<double> told : {std::optional(3.0), std::optional<double>()}) {
    const BelievedTime belief = times->believe(groups, told);
    SMARTMIG_CHECK(std::isfinite(belief.log_median) && belief.spread > 0, "{} +- {}", belief.log_median, belief.spread);
    times->learn(groups, told, 4);
    times->learn_cut(groups, told, 5);
  }
  return 0;
}
