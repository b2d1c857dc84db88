// Every option of Slurm's sbatch, and what it means here: one table, from which script headers (script_header.cc) and
// command lines (submit_options.cc) are read and which docs/sbatch.md repeats (a test compares them). Options that
// `submit` knows are honoured. Of the others, those whose neglect would change what happens are refused, with what to
// do instead; the rest means nothing on one machine and is named in a note.
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
