// Lines of the log of a long-running program: "2026-11-18T20:11:00Z smartmig: WORDS" on the standard error. Under
// systemd, whose journal has times of its own, without the time.
#pragma once
#include <string>

namespace smartmig::cli {

void tell_log(const std::string& words);

}  // namespace smartmig::cli
