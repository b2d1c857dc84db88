#include "live/jobs/oom_words.h"

#include <cmath>

#include "base/text.h"

namespace smartmig {
namespace {

constexpr std::string_view kBefore = "o allocate ";  // of "Tried to" and "trying to"
constexpr double kMostRequestMib = 1 << 26;

double mib_of(std::string_view unit) {
  if (unit.starts_with("GiB") || unit.starts_with("GB")) return 1024;
  if (unit.starts_with("MiB") || unit.starts_with("MB")) return 1;
  if (unit.starts_with("KiB") || unit.starts_with("KB")) return 1.0 / 1024;
  if (unit.starts_with("byte")) return 1.0 / (1 << 20);
  return 0;
}

}  // namespace

int refused_request_mib(std::string_view text) {
  for (auto at = text.rfind(kBefore); at != text.npos; at = at == 0 ? text.npos : text.rfind(kBefore, at - 1)) {
    const std::string_view rest = text.substr(at + kBefore.size());
    const auto digits = rest.find_first_not_of("0123456789.");
    if (digits == rest.npos || digits == 0 || rest[digits] != ' ') continue;
    const auto number = parse_double(rest.substr(0, digits));
    const double mib = number ? *number * mib_of(rest.substr(digits + 1)) : 0;
    if (mib > 0 && mib < kMostRequestMib) return int(std::ceil(mib));
  }
  return 0;
}

}  // namespace smartmig
