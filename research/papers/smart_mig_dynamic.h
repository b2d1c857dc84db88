// SMART-MIG's Table I and Fig. 12: controllers that repartition, beside partitions that stay, at each load. The paper's
// controller (53 inputs, top-k sampling, every five events) stands under its own name, with the figures that the paper
// prints for it; the networks and planners of this repository have rows of their own.
#pragma once
#include <vector>

#include "base/result.h"
#include "research/papers/smart_mig.h"

namespace smartmig {

std::vector<PaperPart> smart_mig_dynamic_parts(const SmartMigOptions& options);  // one for each load

}  // namespace smartmig
