#include "live/gpu/memory_size.h"

#include <cmath>

#include "base/text.h"

namespace smartmig {

std::optional<int> parse_mib(std::string_view text) {
  std::string word = lower(trim(text));
  if (word.ends_with("ib"))
    word.resize(word.size() - 2);
  else if (word.ends_with("b"))
    word.pop_back();
  double unit = 1;
  if (!word.empty()) {
    const char last = word.back();
    const double found = last == 'k'   ? 1.0 / 1024
                         : last == 'm' ? 1
                         : last == 'g' ? 1024
                         : last == 't' ? 1024 * 1024
                                       : 0;
    if (found > 0) {
      unit = found;
      word.pop_back();
    }
  }
  const auto value = parse_double(word);
  if (!value || *value < 0) return std::nullopt;
  const double mib = std::ceil(*value * unit - 1e-9);
  if (mib > kMaxMemoryMib) return std::nullopt;
  return int(mib);
}

}  // namespace smartmig
