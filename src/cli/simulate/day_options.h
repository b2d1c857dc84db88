// The options for the days of an experiment (compare, search, tune): seeds of a generator, or windows of a file.
#pragma once
#include <string>
#include <vector>

#include "cli/command.h"
#include "eval/experiment.h"

namespace smartmig::cli {

struct DayOptions {
  enum class Use { kReport, kSearching, kTuning } use = Use::kReport;
  std::int64_t days = 0;  // at most; 0: no limit on windows
  std::string seeds;      // else so many from the first of their use on
  std::string window, windows;

  void declare(Command& command);  // --window, --windows; days and seeds are worded by each verb
  // The numbers of the days of setting.workload; for a file, reads it and puts its windows into the setting.
  Result<std::vector<std::uint64_t>> choose(Setting& setting) const;

 private:
  Result<std::vector<std::uint64_t>> choose_seeds() const;
  Result<std::vector<std::uint64_t>> choose_windows(Setting& setting) const;
};

}  // namespace smartmig::cli
