// The comment lines of a batch script that say how it wants to run: "#SMARTMIG --mem 18G" and "#SBATCH --time=30:00".
// As with Slurm they stand before the first command; what follows it is not read. Words may be quoted; " #" starts a
// remark. An option of #SBATCH that means nothing here is named in `warnings` and left out; one that is not available
// is an error (sbatch_options.h), and so is an unknown one.
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
