// What has happened keeps its distance from now when the time of day is set (serve/daemon/clock_steps.h).
#pragma once
#include "base/units.h"

namespace smartmig {

// Never before 1970; what has not happened, or never will, is not moved.
constexpr UnixTime moved(UnixTime t, Time by) {
  if (t == kNotYet || t == kNeverUnix) return t;
  return t + by < UnixTime{} ? UnixTime{} : t + by;
}

}  // namespace smartmig
