// The objective in money: the price of a kilowatt-hour and of an hour of lateness. Their ratio is the weight between
// joules and lateness that policies use.
#pragma once
#include "base/units.h"

namespace smartmig {

struct EnergyPrices {
  double energy_per_kwh = 0, late_per_hour = 0;
  double cost(double joules, double late_s) const {
    return kilowatt_hours(joules) * energy_per_kwh + late_s / 3600 * late_per_hour;
  }
  // The weight of a watt-minute against a minute of one job's tardiness.
  double weight() const { return late_per_hour > 0 ? energy_per_kwh / (1000 * late_per_hour) : 0; }
  bool operator==(const EnergyPrices&) const = default;
};

}  // namespace smartmig
