// A recorded run for the browser page: the fleet, the journal's lines unchanged, watts and queue over time, and the
// joules of every job. A replay checks every line before any is shown.
#pragma once
#include <functional>
#include <string>

#include "base/file.h"
#include "report/html_report.h"

namespace smartmig {

struct RecordedWorld {
  std::string world;    // JSON: as GET /v1/world of a daemon, with kind "recorded"
  std::string journal;  // lines, one run or several
  std::string series;   // JSON: {"idle_w","points":[[s, joules, waiting, running], ...],"joules":{"job": j}}
  std::string summary;  // JSON: the figures of the last run, with "energy_bound_kwh" and "et_bound" if known
};

struct RecordedOptions {
  std::size_t run = 0;  // the run after the daemon's Nth start; 0: all runs that fit on one time axis
  // Proves bounds for a run, if set.
  std::function<Result<ReportExtras>(const RunRecord&)> bounds;
};
// kInvalid names file and line.
Result<RecordedWorld> recorded_world(const std::string& path, const RecordedOptions& options);

}  // namespace smartmig
