// MIGBench's comparison (migbench_trace.h) on 8 emulated H100-80GB: its figures for the NVIDIA DRA driver and HAMi,
// real schedulers on fake nodes, against our policies in simulation on the same jobs. Wait is from arrival to the first
// start; percentiles are interpolated as in MIGBench.
#pragma once
#include "base/result.h"
#include "research/papers/paper_report.h"

namespace smartmig {

struct MigbenchOptions {
  std::int64_t seeds = 1;  // MIGBench printed only the first
  int threads = 1;
};
Result<PaperReport> migbench_report(const MigbenchOptions& options, const PaperProgress& progress);

}  // namespace smartmig
