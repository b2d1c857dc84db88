#include "base/duration_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/units.h"

namespace smartmig {

std::string duration_words(double s) {
  if (!(s >= 0)) s = 0;
  if (s < 1 && s > 0) return fmt::format("{:.1f} s", s);
  const auto whole = std::int64_t(std::llround(std::min(s, kMaxSeconds)));
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 7200) return fmt::format("{} min", whole / 60);
  if (whole < 172'800) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  return fmt::format("{} d {:02} h", whole / 86'400, whole / 3600 % 24);
}

}  // namespace smartmig
