// Seconds to create and destroy an instance, by GPU model and profile size; from data/reconfig.csv (embedded). A model
// without a measurement uses its family's nearest (data/reconfig.csv says which).
#pragma once
#include "base/units.h"
#include "mig/gpu_model.h"
#include "model/cost.h"

namespace smartmig {

struct ReconfigTime {
  Time create{}, destroy{};
};

ReconfigTime reconfig_time(const GpuModel& model, int profile);

// One change of a GPU under hardware costs: what goes, then what comes, one after the other; or cost.reshape.
Time reshape_time(const CostModel& cost, const GpuModel& model, Layout from, Layout to);

}  // namespace smartmig
