// The directory of one run: everything needed to read, plot, replay and repeat it. It appears whole under its name or
// not at all. All files but timing.json are equal to the byte for equal runs. docs/outputs.md lists them.
#pragma once
#include <string>

#include "report/html_report.h"
#include "report/run_record.h"

namespace smartmig {

struct RunDirOptions {
  bool force = false;   // replace what is there
  bool report = false;  // report.html as well; needs the journal
  ReportExtras extras;  // bounds to show in the report
};

Result<Ok> write_run_dir(const std::string& path, const RunRecord& run, const RunDirOptions& options = {});

}  // namespace smartmig
