// The table of the memory study (memory_study.h): foreseeing that a job will not fit, by our method, by a straight
// line, and by waiting for the failure.
#pragma once
#include "base/result.h"
#include "research/papers/paper_report.h"

namespace smartmig {

Result<PaperReport> memory_report(int cases_per_family, int threads);

}  // namespace smartmig
