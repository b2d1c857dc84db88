// A site's own measurements, which extend the embedded tables: files of the same form as data/speeds.csv and
// data/power_kinds.csv. The environment names them as FILE[:FILE], or the daemon's settings do; `smartmig profile` and
// `smartmig calibrate` write them. Later files win: for speeds, all rows of a (kind, GPU model) at once; for watts, row
// by row. Any thread may call, but files must be added before threads start. Each table reads its files once, at its
// first use.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig {

inline constexpr const char* kSpeedsVariable = "SMARTMIG_SPEEDS";
inline constexpr const char* kPowerVariable = "SMARTMIG_POWER_KINDS";

std::vector<std::string> site_files(const char* variable);  // those of the environment, then those of add_site_files()
// Adds files, which win over those of the environment. Call it before the first use of the tables.
void add_site_files(const char* variable, const std::vector<std::string>& files);

Result<Ok> check_power_files(const std::vector<std::string>& files);  // in power.cc
// Checks that the files in the environment are usable. The error names file and line.
Result<Ok> check_site_tables();

}  // namespace smartmig
