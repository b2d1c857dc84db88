// Every option of Slurm's sbatch and its meaning here, in one table. script_header.cc and submit_options.cc use it, and
// docs/sbatch.md repeats it (a test compares them). Options that `submit` knows are honoured. Others are refused, with
// an alternative, if ignoring them would change the job; the rest have no effect on one machine and produce a note.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smartmig::cli {

struct SbatchOption {
  enum Verdict { kHonoured, kRefused, kMeaningless, kOnly } verdict;  // kOnly: meaningless as `only`, else refused
  const char* name;
  const char* alias;  // "-p", or empty
  bool takes_value;
  const char* words;  // why, or what to do instead
  const char* only = "";
};
std::span<const SbatchOption> sbatch_options();
const SbatchOption* find_sbatch_option(std::string_view name);  // by either name; nullptr: not Slurm's

// The note for one that means nothing; an error for one that is refused. `where`: "#SBATCH " in a header. REQUIRES: it
// is not honoured.
Result<std::string> read_sbatch_option(const SbatchOption& option, std::string_view value, std::string_view where);

std::string sbatch_table();  // as Markdown

}  // namespace smartmig::cli
