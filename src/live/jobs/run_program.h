// Runs a small tool until it ends: text in, text out, with a limit in seconds. For control programs, not for jobs. A
// daemon that the tool leaves behind inherits no descriptors. Thread rule: free; children are waited for by pid.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace smartmig {

struct ProgramRun {
  std::vector<std::string> arguments;                            // [0] is the program, searched in PATH
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  std::string input;
  bool capture = true;  // false: output goes nowhere (for programs that leave a daemon behind)
  Time limit = Time(10'000'000);
  std::size_t most_output = std::size_t(1) << 20;  // bytes; the rest is dropped
};
struct ProgramResult {
  int status = 0;      // exit code; 128 + signal for a killed one
  std::string output;  // stdout and stderr together
};

Result<ProgramResult> run_program(const ProgramRun& run);

}  // namespace smartmig
