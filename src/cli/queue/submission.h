// Turns the arguments of `submit`, `run` and `whatif` into job specs: a command after "--", a script with header lines,
// or a list of commands on standard input, with the current directory and environment. Precedence of options: command
// line, #SMARTMIG lines, #SBATCH lines. Text that is not UTF-8 is refused, because specs are sent as JSON.
#pragma once
#include <istream>
#include <string>
#include <vector>

#include "cli/queue/submit_options.h"

namespace smartmig::cli {

struct Words {
  std::vector<GivenOption> options;
  std::vector<std::string> rest;
  bool dashed = false;             // "--" stood before `rest`
  std::vector<std::string> notes;  // of options that mean nothing here
};

struct Submission {
  std::vector<nlohmann::json> jobs;  // specs
  std::vector<std::string> notes;
};
Result<Submission> make_submission(const Words& words, std::istream& input, UnixTime now);
// For a daemon on this machine (local_start.h): what is missing here is missing there. Commands of a list are sh's.
Result<Ok> check_local_start(Submission& submission, UnixTime now);

}  // namespace smartmig::cli
