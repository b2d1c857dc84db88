// The price of a kilowatt-hour over the day, by hours of the host's local time: "0:0.18 7:0.31 22:0.18" is 0.18 from
// midnight, 0.31 from seven, 0.18 again from ten in the evening. Empty: there is none, and one price holds all day.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace smartmig {

struct PriceCurve {
  std::vector<std::pair<int, double>> steps;  // from this hour on; by hour, the first at 0

  static Result<PriceCurve> parse(const std::string& text);
  std::string text() const;
  bool empty() const { return steps.empty(); }
  double at_hour(int hour) const;  // REQUIRES: not empty
  double at(UnixTime when) const;  // by the local time of this host. REQUIRES: not empty
  double mean() const;             // over the hours of a day. REQUIRES: not empty
  bool operator==(const PriceCurve&) const = default;
};

}  // namespace smartmig
