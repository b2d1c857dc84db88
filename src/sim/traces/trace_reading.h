// How a trace file was understood, for `smartmig workload --explain`: the recognised format and why, which column
// became which field in which unit, which fields are missing and what replaces them. Workload::rules has the counts and
// rules of the reading itself.
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
      source;          // source: of the format's documentation
  std::string layout;  // "comma-separated, 12 columns, header on line 1"
  std::vector<Use> used;
  std::vector<std::string> unused;  // columns
  std::vector<Gap> missing;
  std::string map;                                 // this reading as an editable --map; empty: impossible
  struct Recorded {                                // of a cluster's history
    std::optional<double> wait_s;                  // mean over the kept jobs, if the file has their starts
    double gpu_hours = 0, left_out_gpu_hours = 0;  // left_out: those of dropped jobs with several GPUs
  } recorded;
  std::vector<std::string> warnings;  // what to know before trusting the figures
};

}  // namespace smartmig
