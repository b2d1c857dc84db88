#include "report/journal_runs.h"

#include "base/json.h"

namespace smartmig {
namespace {

// Whether the line is a note. Notes begin with "at"; events do not.
Result<bool> take_note(std::string_view line, JournalRun& run, const std::string& name, std::int64_t number) {
  if (!line.starts_with("{\"at\":")) return false;
  const std::string where = fmt::format("{} line {}", name, number);
  SMARTMIG_TRY(const Json json, parse_json(where, line));
  SMARTMIG_TRY(const JsonObject note, JsonObject::open(json, where, ""));  // a newer daemon may add fields
  SMARTMIG_TRY(const std::string kind, note.text("note"));
  ++run.notes;
  if (kind == "job_ended" && note.has("joules")) {
    SMARTMIG_TRY(const auto job, note.integer("job", 0, INT64_MAX));
    SMARTMIG_TRY(run.joules[std::to_string(job)], note.number("joules", 0, 1e18));
  }
  return true;
}

}  // namespace

Result<std::vector<JournalRun>> read_journal_runs(LineReader lines) {
  std::vector<JournalRun> runs;
  for (;;) {
    SMARTMIG_TRY(const auto line, lines.next());
    if (!line) break;
    if (runs.empty() || line->starts_with("{\"smartmig_journal\"")) {
      JournalRun& run = runs.emplace_back();
      run.first_line = lines.line();
      run.text.append(*line).push_back('\n');
      continue;
    }
    SMARTMIG_TRY(const bool note, take_note(*line, runs.back(), lines.name(), lines.line()));
    if (!note) runs.back().text.append(*line).push_back('\n');
  }
  if (runs.empty()) return invalid("{} is empty; a journal starts with a header line", lines.name());
  return runs;
}

}  // namespace smartmig
