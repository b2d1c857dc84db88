// report.html: one run on one page that opens from disk. It shows key figures, slices over time with power and queue,
// lateness of jobs, and where the energy went.
#pragma once
#include <optional>
#include <string>

#include "report/timeline.h"

namespace smartmig {

// `energy_bound_kwh`, `et_bound`: proven lower bounds of this workload on this platform, shown next to the run's own
// values.
struct ReportExtras {
  std::optional<double> energy_bound_kwh, et_bound;
};
std::string html_report(const RunRecord& run, const Timeline& line, const ReportExtras& extras = {});

}  // namespace smartmig
