// report.html: one run on one page that opens from disk. It shows key figures, slices over time with power and queue,
// lateness of jobs, and where the energy went.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "report/run_record.h"
#include "report/timeline.h"

namespace smartmig {

// `energy_bound_kwh`, `et_bound`: proven lower bounds of this workload on this platform, shown next to the run's own
// values.
struct ReportExtras {
  std::optional<double> energy_bound_kwh, et_bound;
};
std::string html_report(const RunRecord& run, const Timeline& line, const ReportExtras& extras = {});

// A recorded day as a self-contained page that plays it in a minute (web/plain/replay.js): slices split and merge, jobs
// go from the queue to their slices, energy and lateness add up. With a second run of the same jobs, both play side by
// side under one cursor.
struct ReplayWorld {
  std::string name;  // the policy
  const RunRecord* run = nullptr;
};

struct ReplayPage {
  std::string title;
  std::vector<ReplayWorld> worlds;  // one, or two over the same jobs
  std::string note;                 // what the reader must know of the second one; empty: nothing
  std::string version, command;
};
std::string replay_page(const ReplayPage& page);  // REQUIRES: RunRecord::events

}  // namespace smartmig
