// A daemon's journal holds several runs, one for each start of the daemon, each with its header, and notes between the
// lines: what the world said beside events. This cuts it: every run is a journal that replay_journal() reads, and of
// the notes the joules that ended jobs were charged with are kept. A simulator's journal is one run without notes.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/file.h"

namespace smartmig {

struct JournalRun {
  std::string text;
  std::int64_t first_line = 1;           // in the whole file
  std::map<std::string, double> joules;  // of ended jobs by number, as measured and attributed
  std::size_t notes = 0;
};
// At least one. The error names file and line; lines are judged by replay_journal().
Result<std::vector<JournalRun>> read_journal_runs(LineReader lines);

}  // namespace smartmig
