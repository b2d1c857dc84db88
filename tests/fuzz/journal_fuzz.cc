// Any bytes as a journal: the reader answers with a run or an error, and a run it accepts comes back the same when
// written.
#include <cctype>
#include <cstdint>

#include "fuzz/target.h"
#include "report/html_report.h"
#include "report/journal.h"
#include "report/summary_text.h"
#include "report/tables.h"
#include "report/trace.h"

namespace {

// Large fleets are legal but slow: three digits in front of an x are enough to find bugs.
bool names_a_large_fleet(std::string_view text) {
  int digits = 0;
  for (const char c : text) {
    if (c == 'x' && digits > 3) return true;
    digits = std::isdigit(static_cast<unsigned char>(c)) ? digits + 1 : 0;
  }
  return false;
}

}  // namespace

SMARTMIG_FUZZ_TARGET(journal) {
  using namespace smartmig;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (names_a_large_fleet(text.substr(0, text.find('\n')))) return 0;
  const auto run = replay_journal(LineReader::over("journal", text));
  if (!run) {
    SMARTMIG_CHECK(!run.error().what.empty(), "an error says what is wrong");
    return 0;
  }
  const RunRecord& record = (*run)->record;
  const std::string written = journal_text(record);
  const auto again = replay_journal(LineReader::over("again", written));
  SMARTMIG_CHECK(again, "what was accepted is refused when written: {}", again.error().what);
  SMARTMIG_CHECK(summary_fields((*again)->record.summary) == summary_fields(record.summary), "another summary");
  SMARTMIG_CHECK(journal_text((*again)->record) == written, "another journal");
  const Timeline line = timeline_of(record);
  SMARTMIG_CHECK(!jobs_csv(record).empty() && !trace_json(record, line).empty() && !html_report(record, line).empty(),
                 "an empty file");
  return 0;
}
