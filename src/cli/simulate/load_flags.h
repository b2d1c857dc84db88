// The options for reading a workload, shared by all verbs that take one.
#pragma once
#include <string>

#include "cli/command.h"
#include "sim/traces/trace_reading.h"
#include "sim/workload_spec.h"

namespace smartmig::cli {

struct LoadFlags {
  double tokens_per_s = 0;
  std::string slack, missing_slack, restart, format, map, default_kind, throughputs;
  double deadline_cut_s = 0;

  void declare(Command& command);
  void declare_slack(Command& command);  // --slack, --missing-slack, --deadline-cut-s
  void declare_file(Command& command);   // what a file needs: --map, --format, --default-kind, ...
  Result<LoadOptions> options() const;
};

void print_warnings(const TraceReading& reading);  // on standard error

}  // namespace smartmig::cli
