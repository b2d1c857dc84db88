// SMART-MIG's results (arXiv 2606.29775) against ours: the loads of its tables under static and dynamic policies, the
// placers of its Figs 6-10, energy against tardiness by number of GPUs (Fig. 4), chosen layouts and sublinearity of the
// queue (Fig. 13). smart_mig_fig11.h has Fig. 11, smart_mig_static.h the static partitions alone.
#pragma once
#include "base/result.h"
#include "research/papers/paper_report.h"

namespace smartmig {

struct SmartMigOptions {
  std::int64_t days = 30;       // report seeds
  std::int64_t bound_days = 0;  // number of first days whose ET bound is proven
  int threads = 1;
};
nlohmann::ordered_json settings_of(const SmartMigOptions& options);  // a part's settings
std::vector<PaperPart> smart_mig_parts(const SmartMigOptions& options);
Result<PaperReport> smart_mig_report(const SmartMigOptions& options, const PaperProgress& progress);

}  // namespace smartmig
