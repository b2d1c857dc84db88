// journal.jsonl: one run as JSON lines. A header names the world (platform, power, costs, layouts at time 0, kinds),
// then one line per event. Arrivals carry the whole job, so that a replay needs no workload file. docs/outputs.md has
// the fields. The reader is strict: an unknown or missing field, a time that runs backwards, a job that finishes before
// it starts are errors that name file, line and field. It never stops the program, whatever the bytes.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "report/run_record.h"

namespace smartmig {

inline constexpr int kJournalVersion = 1;

std::string journal_text(const RunRecord& run);  // REQUIRES: run.events

// A journal as read: every event was checked against the fleet it meets.
struct ReplayedRun {
  std::vector<Event> events;
  Cluster final;
  RunRecord record;  // its events and final point at the two above, so the whole is handed out by pointer and stays put
};

// `a` in place of the journal's own. The summary equals that of the run that was written.
Result<std::unique_ptr<ReplayedRun>> replay_journal(LineReader lines, std::optional<double> a = {});

}  // namespace smartmig
