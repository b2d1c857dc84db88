#include "base/text.h"
#include "sim/traces/trace_readers.h"
#include "sim/traces/trace_rows.h"
#include "sim/traces/trace_times.h"

namespace smartmig {

Result<Workload> read_chronus(const TraceSource& source, const TraceFormat& format, const LoadOptions& options) {
  SMARTMIG_TRY(const TraceMap map, parse_trace_map(format.map));
  SMARTMIG_TRY(LineReader lines, source.open());
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(std::move(lines), source.dialect));
  const int expected = csv.column_in_any_case("expect_time_list"), best_effort = csv.column_in_any_case("best_effort");
  TraceRowHook hook;
  hook.deadlines = "expect_time_list, the first one; best_effort 1: none";
  hook.row = [expected, best_effort](const CsvReader& row, std::string_view, TraceJob& job) -> Result<Ok> {
    if (row.text(best_effort) == "1") {
      job.no_deadline = true;
      return Ok{};
    }
    const std::string_view list = row.text(expected);
    if (says_unknown(list)) return Ok{};
    const auto minutes = parse_double(trim(list.substr(0, list.find('-'))));
    if (!minutes || *minutes < 0 || *minutes > kMaxSeconds / 60)
      return row.error(expected, fmt::format("'{}' does not begin with a number of minutes", list));
    job.deadline_offset_s = *minutes * 60;
    return Ok{};
  };
  return read_trace_rows(std::move(csv), map, options, hook);
}

}  // namespace smartmig
