// A Summary for people and for programs. Every verb that prints one prints it through here, so that a replay can be
// compared with the run it came from by eye and by diff.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "model/summary.h"

namespace smartmig {

// All fields in order, values as JSON numbers (shortest form that reads back to the same bits).
std::vector<std::pair<std::string, std::string>> summary_fields(const Summary& summary);

std::string summary_json(const Summary& summary);  // one line, no line end
std::string summary_text(const Summary& summary);  // a short table, ends with a line end

}  // namespace smartmig
