// A Summary for people and for programs. Every verb prints summaries through here, so a replay can be compared with its
// run by eye and by diff.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "model/summary.h"

namespace smartmig {

// All fields in order, values as JSON numbers (the shortest form that reads back to the same bits).
std::vector<std::pair<std::string, std::string>> summary_fields(const Summary& summary);

std::string summary_json(const Summary& summary);  // one line, no line end
std::string summary_text(const Summary& summary);  // a short table that ends with a line end

}  // namespace smartmig
