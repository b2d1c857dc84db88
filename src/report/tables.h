// The CSV and JSON tables of a run directory. Batsim's columns and keys come first, with its names, order and units
// (seconds, joules), so tools for its output read ours. docs/outputs.md describes every column. A "resource" is one
// memory slice of a GPU, numbered GPU after GPU, so simultaneous jobs never overlap.
#pragma once
#include <string>

#include "report/timeline.h"

namespace smartmig {

std::string jobs_csv(const RunRecord& run);
std::string schedule_json(const RunRecord& run);
std::string config_toml(const RunRecord& run);
std::string timing_json(const RunRecord& run);

std::string partition_changes_csv(const RunRecord& run, const Timeline& line);
std::string machine_states_csv(const RunRecord& run, const Timeline& line);
std::string consumed_energy_csv(const RunRecord& run, const Timeline& line);

}  // namespace smartmig
