// How tight each bound is where the optimum is known: a few jobs on one or two GPUs.
#pragma once
#include "base/result.h"
#include "research/papers/paper_report.h"

namespace smartmig {

Result<PaperReport> tiny_bounds_report(int threads, const PaperProgress& progress);

}  // namespace smartmig
