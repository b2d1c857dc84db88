// Guesses a --map for an unrecognised table: the possible meaning of each column, by its name alone. A person reads,
// edits and returns it, so a wrong guess costs nothing.
#pragma once
#include <string>
#include <vector>

#include "sim/traces/trace_reading.h"

namespace smartmig {

struct MapGuess {
  std::string text;                  // "submit=arrived_ms:ms,duration=COLUMN:s"; COLUMN if no column resembles it
  std::vector<std::string> missing;  // those of submit and duration, which a workload needs
};
MapGuess guess_map(const std::vector<std::string>& header);

std::string map_of(const TraceReading& reading);  // what was understood, as an editable --map

}  // namespace smartmig
