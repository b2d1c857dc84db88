// MIGBench's comparison (migbench_trace.h) on 8 emulated H100-80GB: what it prints for the NVIDIA DRA driver and HAMi,
// real schedulers on fake nodes, beside what our policies reach in simulation on the same jobs. Wait is from arrival to
// the first start; percentiles are interpolated as MIGBench does.
#pragma once
#include "base/result.h"
#include "research/papers/paper_report.h"

namespace smartmig {

struct MigbenchOptions {
  std::int64_t seeds = 1;  // MIGBench printed the first only
  int threads = 1;
};
Result<PaperReport> migbench_report(const MigbenchOptions& options, const PaperProgress& progress);

}  // namespace smartmig
