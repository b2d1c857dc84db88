// Seconds to create and destroy an instance, by GPU model and profile size, from data/reconfig.csv (embedded). A model
// without a measurement uses the nearest model of its family (data/reconfig.csv names it).
#pragma once
#include "base/units.h"
#include "mig/gpu_model.h"
#include "model/cost.h"

namespace smartmig {

struct ReconfigTime {
  Time create{}, destroy{};
};

ReconfigTime reconfig_time(const GpuModel& model, int profile);

// The time of one change of a GPU under hardware costs: all destroys, then all creates, one after the other; or
// cost.reshape.
Time reshape_time(const CostModel& cost, const GpuModel& model, Layout from, Layout to);

}  // namespace smartmig
