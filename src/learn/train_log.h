// The files of a training run that others' tools read: progress.csv and progress.jsonl (one row per update; SB3's and
// CleanRL's key names) and a TensorBoard event file. Rows are appended and flushed at once, so that a killed run keeps
// what it had; a resumed run appends. Wall time is in these files and nowhere else.
#pragma once
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "learn/training.h"

namespace smartmig {

using LogRow = std::vector<std::pair<std::string, double>>;

// Keys in fixed order; what an update did not measure is NaN.
LogRow log_row(const UpdateReport& report, const EvalReport* eval, double elapsed_s, double jobs_before,
               double steps_before);
std::string csv_header(const LogRow& row);
std::string csv_line(const LogRow& row);   // empty cells for NaN
std::string json_line(const LogRow& row);  // without what is NaN

class TrainLog {
 public:
  // Opens or continues the files in `directory`. `wall_time`: seconds since 1970, names the event file.
  static Result<TrainLog> open(const std::string& directory, double wall_time);
  Result<Ok> append(const LogRow& row, std::int64_t step, double wall_time);

 private:
  std::string directory_;
  std::ofstream csv_, json_, events_;
  bool has_header_ = false;
};

}  // namespace smartmig
