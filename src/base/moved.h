// Shifts past instants when the time of day is set, so that each stays as far from now as it was
// (serve/attempts/clock_steps.h).
#pragma once
#include "base/units.h"

namespace smartmig {

// The result is never before 1970. Instants that have not happened, or never will, stay as they are.
constexpr UnixTime moved(UnixTime t, Time by) {
  if (t == kNotYet || t == kNeverUnix) return t;
  return t + by < UnixTime{} ? UnixTime{} : t + by;
}

}  // namespace smartmig
