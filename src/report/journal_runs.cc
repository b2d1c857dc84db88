#include "report/journal_runs.h"

#include <nlohmann/json.hpp>

namespace smartmig {
namespace {

using nlohmann::json;

// Is it a note? Notes begin with "at", which no event does.
Result<bool> take_note(std::string_view line, JournalRun& run, const std::string& name, std::int64_t number) {
  if (!line.starts_with("{\"at\":")) return false;
  const json note = json::parse(line, nullptr, false);
  if (!note.is_object() || !note.contains("note") || !note["note"].is_string())
    return invalid("{} line {}: it begins as a note of the daemon and is none", name, number);
  ++run.notes;
  if (note["note"] == "job_ended" && note.contains("job") && note["job"].is_number_unsigned() &&
      note.contains("joules") && note["joules"].is_number())
    run.joules[std::to_string(note["job"].get<std::uint64_t>())] = note["joules"].get<double>();
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
  if (runs.empty()) return invalid("{} is empty: a journal starts with a header line", lines.name());
  return runs;
}

}  // namespace smartmig
