// The files of a training run that other tools read: progress.csv and progress.jsonl (one row per update; SB3's and
// CleanRL's key names). Rows are appended and flushed at once, so a killed run keeps them; a resumed run appends. Only
// these files contain wall time.
#pragma once
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "research/learn/training.h"

namespace smartmig {

using LogRow = std::vector<std::pair<std::string, double>>;

// Keys in fixed order; an unmeasured value is NaN.
LogRow log_row(const UpdateReport& report, const EvalReport* eval, double elapsed_s, double jobs_before,
               double steps_before);
std::string csv_header(const LogRow& row);
std::string csv_line(const LogRow& row);   // empty cells for NaN
std::string json_line(const LogRow& row);  // omits NaN

class TrainLog {
 public:
  static Result<TrainLog> open(const std::string& directory);  // opens or continues the files there
  Result<Ok> append(const LogRow& row);

 private:
  std::string directory_;
  std::ofstream csv_, json_;
  bool has_header_ = false;
};

}  // namespace smartmig
