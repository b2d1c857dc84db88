// SMART-MIG's results (arXiv 2606.29775) beside ours: the loads of its tables under static and dynamic policies, the
// placers of its Figs 6-10, energy against tardiness by number of GPUs (Fig. 4), layouts chosen and how sublinear the
// queue is (Fig. 13). Fig. 11 is smart_mig_fig11.h, static partitions alone smart_mig_static.h.
#pragma once
#include "base/result.h"
#include "research/papers/paper_report.h"

namespace smartmig {

struct SmartMigOptions {
  std::int64_t days = 30;       // report seeds
  std::int64_t bound_days = 0;  // of the first so many the ET bound is proven
  int threads = 1;
};
nlohmann::ordered_json settings_of(const SmartMigOptions& options);  // of a part
std::vector<PaperPart> smart_mig_parts(const SmartMigOptions& options);
Result<PaperReport> smart_mig_report(const SmartMigOptions& options, const PaperProgress& progress);

}  // namespace smartmig
