// How recorded traces write instants, durations and amounts of memory. An instant is a number in some unit, or a date
// with a time of day ("2023-03-01 00:18:22+08:00", "2017-10-07 01:12:09", "2023-11-16 18:15:46.6805900Z"). The readers
// above this file turn markers of unknown values (empty, NaN, NA, None, null, \N, -) into nullopt.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace smartmig {

bool says_unknown(std::string_view field);

struct TraceInstant {
  Time at{};             // a date's: since 1970 in UTC; without a zone, as if it were UTC
  bool is_date = false;  // false: a number, in the trace's own time
  int zone_minutes = 0;  // east of UTC; a date's
  bool has_zone = false;
};

// Seconds per unit: s, ms, us, ns, min, h, d. nullopt: unknown unit.
std::optional<double> seconds_in(std::string_view unit);
// MiB per unit: mib, gib, mb, gb, kib, bytes. nullopt: unknown unit.
std::optional<double> mib_in(std::string_view unit);

// A number in `unit` (empty: seconds), or a date if the unit is empty or "date". nullopt: neither, or out of range.
std::optional<TraceInstant> parse_trace_instant(std::string_view text, std::string_view unit);

std::string date_words(Time since_1970, int zone_minutes);  // "2023-03-01 00:00:00 +08:00"

}  // namespace smartmig
