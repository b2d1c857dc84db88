#include "sim/traces/google_events.h"

#include <map>

#include "base/text.h"
#include "sim/trace_jobs.h"
#include "sim/traces/trace_reading.h"

namespace smartmig {
namespace {

constexpr int kTimeColumn = 0, kJobColumn = 2, kEventColumn = 3;
constexpr std::int64_t kSubmitEvent = 0, kScheduleEvent = 1, kFirstEnd = 2, kLastEnd = 6, kLastEvent = 8;

struct JobSpan {
  std::int64_t submit_us = -1, schedule_us = -1, end_us = -1;
};

}  // namespace

bool looks_like_google_events(const std::vector<std::string_view>& fields, char delimiter) {
  if (delimiter != ',' || fields.size() != 8) return false;
  const auto event = parse_int(trim(fields[kEventColumn]));
  return parse_int(trim(fields[kTimeColumn])) && parse_int(trim(fields[kJobColumn])) && event && *event >= 0 &&
         *event <= kLastEvent;
}

Result<Workload> read_google_events(const TraceSource& source, const TraceFormat& format, const LoadOptions& options) {
  SMARTMIG_TRY(LineReader lines, source.open());
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(std::move(lines), {',', format.header}));
  std::vector<std::pair<std::string, JobSpan>> spans;  // by their first event
  std::map<std::string, std::size_t, std::less<>> known;
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) break;
    SMARTMIG_TRY(const std::int64_t at, csv.integer(kTimeColumn));
    SMARTMIG_TRY(const std::int64_t event, csv.integer(kEventColumn));
    if (event < 0 || event > kLastEvent)
      return csv.error(kEventColumn, fmt::format("'{}' is not an event from 0 to 8", event));
    if (csv.empty(kJobColumn)) return csv.error(kJobColumn, "must not be empty");
    if (at < 0) return csv.error(kTimeColumn, "must not be negative");
    if (double(at) > kMaxSeconds * 1e6) continue;  // 2^63 - 1 means after the end of the trace
    const auto [found, added] = known.emplace(std::string(csv.text(kJobColumn)), spans.size());
    if (added) spans.emplace_back(found->first, JobSpan());
    JobSpan& span = spans[found->second].second;
    if (event == kSubmitEvent && span.submit_us < 0) span.submit_us = at;
    if (event == kScheduleEvent && span.schedule_us < 0) span.schedule_us = at;
    if (event >= kFirstEnd && event <= kLastEnd) span.end_us = at;
  }
  if (options.reading != nullptr) {
    options.reading->used = {{"id", "job ID", ""},
                             {"submit", "time of SUBMIT (0)", "us"},
                             {"start", "time of the first SCHEDULE (1)", "us"},
                             {"end", "time of the last EVICT to LOST (2 to 6)", "us"}};
    options.reading->unused = {"missing info", "user", "scheduling class", "job name", "logical job name"};
    options.reading->missing = {{"gpus", "the trace has none; every job counts as one GPU"},
                                {"kind", "guessed (--default-kind KIND)"},
                                {"deadline", "drawn (--missing-slack A-B or none)"}};
  }
  SMARTMIG_TRY(TraceJobs jobs, TraceJobs::open(source.name, "job ID", options));
  for (const auto& [id, span] : spans) {
    TraceJob job;
    job.id = id;
    if (span.submit_us >= 0) job.submit_s = double(span.submit_us) / 1e6;
    if (span.submit_us >= 0 && span.schedule_us >= 0 && span.end_us >= 0)
      job.duration_s = double(span.end_us - span.schedule_us) / 1e6;
    jobs.add(job);
  }
  jobs.note(
      "Google's trace has no GPUs; every job counts as one GPU, from its first SCHEDULE to its "
      "last end");
  return jobs.finish();
}

}  // namespace smartmig
