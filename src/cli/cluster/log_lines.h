// Log lines of a long-running program on standard error: "2026-11-18T20:11:00Z smartmig: WORDS". Under systemd, whose
// journal adds the time, the lines have no time.
#pragma once
#include <string>

namespace smartmig::cli {

void tell_log(const std::string& words);

}  // namespace smartmig::cli
