// How a trace file was understood, for `smartmig workload --explain`: the format it was taken for and why, which column
// became which field in which unit, which fields the file does not have and what stands in for them. The counts and
// rules of the reading itself are Workload::rules.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace smartmig {

struct TraceReading {
  struct Use {
    std::string field, column, unit;  // unit empty: a plain number or text
  };
  struct Gap {
    std::string field, instead;
  };
  std::string format, what, known_by,
      source;          // format "helios"; what it is; what it was recognised by; who documents it
  std::string layout;  // "comma-separated, 12 columns, header on line 1"
  std::vector<Use> used;
  std::vector<std::string> unused;  // columns
  std::vector<Gap> missing;
  struct Recorded {                                // of a cluster's history
    std::optional<double> wait_s;                  // mean of the kept jobs, where the file says when they started
    double gpu_hours = 0, left_out_gpu_hours = 0;  // left out: of jobs with several GPUs
  } recorded;
  std::vector<std::string> warnings;  // what a person should know before believing figures
};

}  // namespace smartmig
