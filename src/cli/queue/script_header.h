// The option lines of a batch script: "#SMARTMIG --mem 18G" and "#SBATCH --time=30:00". As in Slurm, they precede the
// first command; later lines are not read. Words may be quoted; " #" starts a comment. #SBATCH options without effect
// are listed in `warnings`. Unsupported and unknown options are errors (sbatch_options.h).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/queue/submit_options.h"

namespace smartmig::cli {

struct ScriptHeader {
  std::vector<GivenOption> sbatch, smartmig;  // in the order of the file
  std::vector<std::string> warnings;
  std::vector<std::string> interpreter;  // of the "#!" line: its program, and the rest of the line as one argument
};
Result<ScriptHeader> read_script_header(const std::string& name, std::string_view text);

}  // namespace smartmig::cli
