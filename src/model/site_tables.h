// A site's own measurements, beside the embedded tables: files of the same form as data/speeds.csv and
// data/power_kinds.csv, named in the environment as FILE[:FILE] or in the daemon's settings, and written by `smartmig profile`
// and `smartmig calibrate`. Later files win: for speeds all rows of a (kind, GPU model) at once, for watts row by row. Thread rule:
// any, but files are added before threads are made; what is named is read at the first use of each table and not again.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig {

inline constexpr const char* kSpeedsVariable = "SMARTMIG_SPEEDS";
inline constexpr const char* kPowerVariable = "SMARTMIG_POWER_KINDS";

std::vector<std::string> site_files(const char* variable);  // of the environment, then those of add_site_files()
// More files, which win over those of the environment. Before the first use of the tables.
void add_site_files(const char* variable, const std::vector<std::string>& files);

Result<Ok> check_power_files(const std::vector<std::string>& files);  // power.cc
// Can what the environment names be used? The error names file and line.
Result<Ok> check_site_tables();

}  // namespace smartmig
