// Figs 4 and 6 to 10 of the SMART-MIG paper: its four placing rules on fixed layouts, over queues of its own jobs
// (ResNet-50 and BERT, training and inference; drawn_workloads.h). The paper gives neither the layouts nor the deadlines
// for all of them, so each figure is measured in two readings.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "research/papers/smart_mig.h"

namespace smartmig {

std::vector<std::string> placer_figures();  // "fig10", "fig6", ...
Result<PaperSection> placer_section(const std::string& figure, const SmartMigOptions& options,
                                    const PaperProgress& progress);
// Fig. 4: the benefit of one more GPU.
Result<PaperSection> gpus_section(const SmartMigOptions& options, const PaperProgress& progress);

}  // namespace smartmig
