// One MIG GPU through a day (arXiv 2606.25082), the paper's figures against ours: a learned repartitioner against no
// partition, the best static layout and the best two layouts per day. The last two are searched on training days for
// every setting, each with its best placer there.
#pragma once
#include "base/result.h"
#include "research/papers/paper_report.h"

namespace smartmig {

struct OneGpuOptions {
  std::int64_t days = 30;  // report seeds
  int threads = 1;
  std::int64_t training_days = 40;  // for the search of static and twice-daily layouts
};
std::vector<PaperPart> one_gpu_parts(const OneGpuOptions& options);
Result<PaperReport> one_gpu_report(const OneGpuOptions& options, const PaperProgress& progress);

}  // namespace smartmig
