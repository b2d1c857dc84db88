#include "sim/swf.h"

#include <array>

#include "base/text.h"
#include "sim/trace_jobs.h"

namespace smartmig {
namespace {

constexpr std::size_t kFields = 18;
constexpr const char* kNames[kFields] = {"job number",
                                         "submit time",
                                         "wait time",
                                         "run time",
                                         "allocated processors",
                                         "CPU time",
                                         "used memory",
                                         "requested processors",
                                         "requested time",
                                         "requested memory",
                                         "status",
                                         "user",
                                         "group",
                                         "executable",
                                         "queue",
                                         "partition",
                                         "preceding job",
                                         "think time"};

Result<std::array<double, kFields>> parse_line(std::string_view line, const std::string& file, std::int64_t number) {
  std::array<double, kFields> values{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < line.size();) {
    const auto from = line.find_first_not_of(" \t", i);
    if (from == line.npos) break;
    const auto end = std::min(line.find_first_of(" \t", from), line.size());
    const auto value = parse_double(line.substr(from, end - from));
    if (count == kFields) return invalid("{} line {}: more than the {} fields of SWF", file, number, kFields);
    if (!value)
      return invalid("{} line {}, field {} ({}): '{}' is not a finite number", file, number, count + 1, kNames[count],
                     line.substr(from, end - from));
    values[count++] = *value;
    i = end;
  }
  if (count < kFields) return invalid("{} line {}: {} fields where SWF has {}", file, number, count, kFields);
  return values;
}

}  // namespace

Result<Workload> read_swf(LineReader lines, const LoadOptions& options) {
  SMARTMIG_TRY(TraceJobs jobs, TraceJobs::open(lines.name(), "job number", options));
  std::size_t partial = 0;
  for (;;) {
    SMARTMIG_TRY(const auto line, lines.next());
    if (!line) break;
    const std::string_view text = trim(*line);
    if (text.empty() || text[0] == ';') continue;
    SMARTMIG_TRY(const auto fields, parse_line(text, lines.name(), lines.line()));
    const double submit = fields[1], run_time = fields[3], status = fields[10];
    const auto wrong = [&](int field) {
      return invalid("{} line {}, field {} ({}): {} is out of range", lines.name(), lines.line(), field,
                     kNames[field - 1], fields[std::size_t(field - 1)]);
    };
    if (submit > kMaxSeconds) return wrong(2);
    if (run_time > kMaxSeconds) return wrong(4);
    if (status >= 2 && status <= 4) {
      ++partial;
      continue;
    }
    TraceJob job;
    job.id = fmt::format("{}", fields[0]);
    if (jobs.known(job.id))
      return invalid("{} line {}: job number {} is given twice", lines.name(), lines.line(), job.id);
    if (submit >= 0) job.submit_s = submit;
    job.duration_s = run_time;
    job.gpus = fields[4] > 0 ? fields[4] : fields[7] > 0 ? fields[7] : 1;
    jobs.add(job);
  }
  jobs.note("a processor of the trace counts as one GPU; an unknown number counts as 1");
  if (partial > 0) jobs.note(fmt::format("{} lines of partial executions (status 2, 3, 4) left out", partial));
  return jobs.finish();
}

}  // namespace smartmig
