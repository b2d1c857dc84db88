// Which colour a name has (a kind of jobs, a policy): one rule for reports and the page (web/plain/colours.js). It
// depends on the names alone, not on their order.
#pragma once
#include <string>
#include <vector>

namespace smartmig {

// For each name one of kKindColours. No two of up to kKindColours names share one.
std::vector<int> colours_of(const std::vector<std::string>& names);

}  // namespace smartmig
