// Time and energy. The engine counts time in integer microseconds, never in a double, so that equal instants compare
// equal and runs repeat to the byte. Energy is joules in a double; 1 watt-minute (the papers' unit) is 60 J.
#pragma once
#include <chrono>
#include <cmath>
#include <cstdint>

namespace smartmig {

using Time = std::chrono::duration<std::int64_t, std::micro>;
inline constexpr Time kNever = Time::max();

// An instant of the world's clock: microseconds since 1970, or on an emulated machine since it was created. It has its
// own type, so that nobody mistakes it for a duration or for an instant of the engine, which counts from the start of a
// run. Only Belief (src/queue/belief) converts between the two.
struct UnixClock {
  using duration = Time;
  using rep = Time::rep;
  using period = Time::period;
  using time_point = std::chrono::time_point<UnixClock>;
  static constexpr bool is_steady = false;
};
using UnixTime = UnixClock::time_point;
inline constexpr UnixTime kNeverUnix = UnixTime::max();
inline constexpr UnixTime kNotYet{Time{-1}};  // has not happened
constexpr std::int64_t unix_us(UnixTime t) { return t.time_since_epoch().count(); }
constexpr UnixTime from_unix_us(std::int64_t us) { return UnixTime(Time(us)); }
constexpr double unix_seconds(UnixTime t) { return double(unix_us(t)) / 1e6; }

constexpr double seconds(Time t) { return double(t.count()) / 1e6; }
constexpr double minutes(Time t) { return double(t.count()) / 60e6; }
// Rounds a non-negative product of times to the nearest microsecond. Fast and plain code share this rule, so they agree
// to the bit.
constexpr Time rounded(double microseconds) { return Time(std::int64_t(microseconds + 0.5)); }
inline Time from_seconds(double s) { return Time(std::llround(s * 1e6)); }
inline Time from_minutes(double m) { return Time(std::llround(m * 60e6)); }

// The largest instant or duration that any reader accepts, about 317 years. Time overflows only after about 292,000
// years.
inline constexpr double kMaxSeconds = 1e10;

constexpr double joules(double watts, Time t) { return watts * seconds(t); }
constexpr double watt_minutes(double joules) { return joules / 60; }
constexpr double kilowatt_hours(double joules) { return joules / 3.6e6; }

}  // namespace smartmig
