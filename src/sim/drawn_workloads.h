// Workloads that are drawn from a seed. p[k], the time on k slices, is p[1] * throughput[1] / throughput[k].
//   paper        SMART-MIG's synthetic day (arXiv 2606.29775; constants from its simulation): 80 % inference jobs whose
//                time on a 1g slice is exponential with mean 3 min, 20 % training jobs with lognormal time (5 % under
//                40 min, 5 % over 60 min); in both classes 2/3 BERT and 1/3 ResNet-50.
//   fixed        Queues for comparing speed curves: the three illustrative curves of SMART-MIG's Fig 3 (linear,
//                sublinear, capped), one of them or an equal mix, with the classes and 1g durations of the paper's day.
//   miso, parva  Measured speed curves per model (training on an A100-40GB, inference on an A100-80GB). Every kind of
//                the source is equally likely. The time on the whole GPU is a seventh of the paper's 1g draw of that
//                class, so the same multiplier means about the same load. A kind cannot use sizes on which the source
//                could not run it.
#pragma once
#include "sim/workload_spec.h"

namespace smartmig {

Result<Workload> paper_workload(const WorkloadSpec& spec);
Result<Workload> fixed_workload(const WorkloadSpec& spec);
Result<Workload> curve_workload(const WorkloadSpec& spec);  // REQUIRES: family miso or parva

}  // namespace smartmig
