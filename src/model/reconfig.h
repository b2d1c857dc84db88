// Seconds to create and destroy an instance, by GPU model and profile size; from data/reconfig.csv (embedded). A model
// without a measurement uses its family's nearest (data/reconfig.csv says which).
#pragma once
#include "base/units.h"
#include "mig/gpu_model.h"

namespace smartmig {

struct ReconfigTime {
  Time create{}, destroy{};
};

ReconfigTime reconfig_time(const GpuModel& model, int profile);

}  // namespace smartmig
