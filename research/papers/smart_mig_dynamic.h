// SMART-MIG's Table I and Fig. 12: controllers that repartition, against fixed partitions, at each load. The paper's
// controller (53 inputs, top-k sampling, every five events) has its own row with its printed figures. The networks and
// planners of this repository have rows of their own.
#pragma once
#include <vector>

#include "base/result.h"
#include "research/papers/smart_mig.h"

namespace smartmig {

std::vector<PaperPart> smart_mig_dynamic_parts(const SmartMigOptions& options);  // one per load

}  // namespace smartmig
