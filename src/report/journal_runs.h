// Splits a daemon's journal into runs. It holds several runs, one for each start of the daemon, each with its header.
// Between the lines are notes: what the world reported besides events. Every run becomes a journal that
// replay_journal() reads. Of the notes, only the joules charged to ended jobs are kept. A simulator's journal is one
// run without notes.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/file.h"

namespace smartmig {

struct JournalRun {
  std::string text;
  std::int64_t first_line = 1;           // in the whole file
  std::map<std::string, double> joules;  // of ended jobs, by number; measured and attributed
  std::size_t notes = 0;
};
// Returns at least one run. The error names file and line. replay_journal() judges the lines.
Result<std::vector<JournalRun>> read_journal_runs(LineReader lines);

}  // namespace smartmig
