#include "queue/answers/power_series.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace smartmig {

bool PowerSeries::add(UnixTime when, double joules) {
  const std::int64_t us = unix_us(when), minute = us / 60'000'000;
  const double into_s = double(us % 60'000'000) / 1e6;
  bool over = false;
  if (points_.empty() || points_.back().minute < minute) {
    const bool goes_on = !points_.empty() && points_.back().minute + 1 == minute;
    over = !points_.empty();
    // A first sample tells of the time before it, which nobody counted here.
    points_.push_back({minute, goes_on ? joules : 0, goes_on ? into_s : 0});
    while (points_.front().minute + kMinutes < minute) points_.pop_front();
    began_s_ = goes_on ? 0 : into_s;
  } else {
    points_.back().joules += joules;
    points_.back().covered_s = std::max(points_.back().covered_s, into_s - began_s_);
  }
  return over;
}

void PowerSeries::clock_stepped(Time by) {
  for (Point& point : points_) point.minute += by / std::chrono::minutes(1);
}

std::string PowerSeries::text() const {
  std::string out;
  for (std::size_t i = 0; i + 1 < points_.size(); ++i)
    out += fmt::format("{}:{:.0f}:{:.1f} ", points_[i].minute, points_[i].joules, points_[i].covered_s);
  return out;
}

void PowerSeries::load(const std::string& text) {
  points_.clear();
  for (const std::string_view word : split(text, ' ')) {
    const auto parts = split(word, ':');
    if (parts.size() != 3) continue;
    const auto minute = parse_int(parts[0]);
    const auto joules = parse_double(parts[1]), covered = parse_double(parts[2]);
    if (minute && joules && covered && (points_.empty() || points_.back().minute < *minute))
      points_.push_back({*minute, *joules, *covered});
  }
}

}  // namespace smartmig
