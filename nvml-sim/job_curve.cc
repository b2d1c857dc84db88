#include "job_curve.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace smartmig::nvsim {

Result<std::uint64_t> parse_bytes(std::string_view text) {
  const std::string_view whole = text;
  if (text.ends_with("iB")) text.remove_suffix(2);
  if (text.ends_with('B')) text.remove_suffix(1);
  double unit = 1;
  if (!text.empty()) switch (text.back()) {
      case 'K':
        unit = 0x1p10;
        break;
      case 'M':
        unit = 0x1p20;
        break;
      case 'G':
        unit = 0x1p30;
        break;
      case 'T':
        unit = 0x1p40;
        break;
      default:
        break;
    }
  if (unit > 1) text.remove_suffix(1);
  const auto value = parse_double(text);
  if (!value || *value < 0 || *value * unit > 0x1p50)
    return invalid("'{}' is not an amount of memory; write 500M, 1.5G or a number of bytes", whole);
  return std::uint64_t(std::llround(*value * unit));
}

Result<MemoryCurve> MemoryCurve::parse(std::string_view text) {
  MemoryCurve curve;
  for (const std::string_view part : split(text, ',')) {
    const auto colon = part.find(':');
    const auto seconds =
        colon == std::string_view::npos ? std::optional<double>(0) : parse_double(trim(part.substr(0, colon)));
    if (!seconds || *seconds < 0)
      return invalid("--mem-curve {}: '{}' should be SECONDS:AMOUNT, for example 0:500M,10:4G", text, part);
    SMARTMIG_TRY(const std::uint64_t bytes,
                 parse_bytes(trim(colon == std::string_view::npos ? part : part.substr(colon + 1))));
    if (!curve.points_.empty() && *seconds <= curve.points_.back().seconds)
      return invalid("--mem-curve {}: the seconds must increase", text);
    curve.points_.push_back({*seconds, bytes});
  }
  return curve;
}

std::uint64_t MemoryCurve::at(double seconds) const {
  const auto after = std::find_if(points_.begin(), points_.end(), [&](const Point& p) { return p.seconds > seconds; });
  if (after == points_.begin()) return points_.front().bytes;
  const Point& from = *std::prev(after);
  if (after == points_.end()) return from.bytes;
  const double share = (seconds - from.seconds) / (after->seconds - from.seconds);
  return std::uint64_t(std::llround(double(from.bytes) + share * (double(after->bytes) - double(from.bytes))));
}

std::optional<double> MemoryCurve::next_bend(double seconds) const {
  for (const Point& point : points_)
    if (point.seconds > seconds) return point.seconds;
  return std::nullopt;
}

std::optional<double> MemoryCurve::first_above(double seconds, std::uint64_t limit) const {
  if (at(seconds) > limit) return seconds;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Point& to = points_[i];
    if (to.seconds <= seconds || to.bytes <= limit) continue;
    if (i == 0) return to.seconds;
    const Point& from = points_[i - 1];
    const double share = (double(limit) - double(from.bytes)) / (double(to.bytes) - double(from.bytes));
    return std::max(seconds, from.seconds + share * (to.seconds - from.seconds));
  }
  return std::nullopt;
}

}  // namespace smartmig::nvsim
