// A recorded run as the page in a browser reads it: what the fleet was, the lines of the journal as they are, watts and
// queue over time, and the joules of every job. Every line is checked by a replay before any is shown.
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
  std::string summary;  // JSON: the figures of the last run, with "energy_bound_kwh" and "et_bound" where known
};

struct RecordedOptions {
  std::size_t run = 0;  // of a daemon's journal, the one after its Nth start; 0: all that can be put on one time axis
  // Proves bounds for a run, where that is asked for.
  std::function<Result<ReportExtras>(const RunRecord&)> bounds;
};
// kInvalid names file and line.
Result<RecordedWorld> recorded_world(const std::string& path, const RecordedOptions& options);

}  // namespace smartmig
