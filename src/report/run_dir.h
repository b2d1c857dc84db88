// The directory of one run: everything needed to read, plot, replay and repeat it. It appears under its name whole or
// not at all. Equal runs give equal files to the byte, except timing.json. docs/outputs.md lists the files.
#pragma once
#include <string>

#include "report/html_report.h"
#include "report/run_record.h"

namespace smartmig {

struct RunDirOptions {
  bool force = false;   // replaces an existing directory
  bool report = false;  // also writes report.html; needs the journal
  ReportExtras extras;  // bounds to show in the report
};

Result<Ok> write_run_dir(const std::string& path, const RunRecord& run, const RunDirOptions& options = {});

}  // namespace smartmig
