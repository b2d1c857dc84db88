// Lines of a job's output, and what is projected from them: never crashes, never says numbers that cannot be; what is
// projected is finite.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "fuzz/target.h"
#include "memory/work_projection.h"
#include "memory/work_words.h"

SMARTMIG_FUZZ_TARGET(work_words) {
  using namespace smartmig;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool asked = size % 2 == 1;  // of its framework
  WorkProjection projection;
  WorkWords told;
  for (double at = 1; !text.empty() && at < 64; ++at) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const WorkWords words = work_words_of(line);
    for (const double number : {words.size, words.size_max, words.done, words.of, words.held_mib})
      SMARTMIG_CHECK(std::isfinite(number) && number >= -1, "{} from '{}'", number, line);
    told.add(words);
    WorkSample sample;
    sample.at_s = at;
    sample.device_mib = 100 + 10 * at;
    sample.take(told);
    if (asked) sample.held_peak_mib = sample.device_mib - 50;
    projection.add(sample);
    const RestartVerdict verdict = projection.verdict(5000, 100, {30, at, at});
    SMARTMIG_CHECK(std::isfinite(verdict.needs_mib), "after '{}'", line);
  }
  SMARTMIG_CHECK(std::isfinite(projection.needs(5000, 0)), "what it needs");
  const PastWork past = projection.to_past(5000);
  for (const HeldProjection::Rise& rise : past.held.rises)
    SMARTMIG_CHECK(std::isfinite(rise.work) && std::isfinite(rise.held), "a run to remember");
  return 0;
}
