// Time and energy. Time in the engine is integer microseconds, never a double, so that equal instants compare equal and
// runs repeat to the byte. Energy is joules in a double; 1 watt-minute (the papers' unit) is 60 J.
#pragma once
#include <chrono>
#include <cmath>
#include <cstdint>

namespace smartmig {

using Time = std::chrono::duration<std::int64_t, std::micro>;
inline constexpr Time kNever = Time::max();

constexpr double seconds(Time t) { return double(t.count()) / 1e6; }
constexpr double minutes(Time t) { return double(t.count()) / 60e6; }
// Nearest microsecond of a non-negative product of times; one rule everywhere, so that fast and plain code agree to the
// bit.
constexpr Time rounded(double microseconds) { return Time(std::int64_t(microseconds + 0.5)); }
inline Time from_seconds(double s) { return Time(std::llround(s * 1e6)); }
inline Time from_minutes(double m) { return Time(std::llround(m * 60e6)); }

// The largest instant or duration that any reader accepts: about 31,700 years would overflow, 300 years never does.
inline constexpr double kMaxSeconds = 1e10;

constexpr double joules(double watts, Time t) { return watts * seconds(t); }
constexpr double watt_minutes(double joules) { return joules / 60; }
constexpr double kilowatt_hours(double joules) { return joules / 3.6e6; }

}  // namespace smartmig
