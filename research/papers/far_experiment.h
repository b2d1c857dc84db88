// FAR's batches (far_families.h) on one A100 under hardware costs: makespan / area bound for FAR's results, for our
// policies, and for the best static partition with FIFO.
#pragma once
#include "base/result.h"
#include "research/papers/paper_report.h"

namespace smartmig {

struct FarOptions {
  std::int64_t batches = 10;  // per family and size
  std::int64_t first_seed = 200'000;
  std::string family;  // only this one
  int threads = 1;
};
Result<Ok> check_options(const FarOptions& options);
Result<PaperReport> far_report(const FarOptions& options, const PaperProgress& progress);

}  // namespace smartmig
