// Jobs with measured speed curves per model: miso (training on an A100-40GB) and parva (inference on an A100-80GB).
// Every kind of the source is equally likely. The time on the whole GPU is a seventh of the paper's 1g draw of that
// class, so the same multiplier means about the same load. A kind cannot use sizes on which the source could not run
// it.
#pragma once
#include "sim/workload_spec.h"

namespace smartmig {

Result<Workload> curve_workload(const WorkloadSpec& spec);  // REQUIRES: family miso or parva

}  // namespace smartmig
