#include "sim/trace_csv.h"

#include <cmath>

#include "base/csv.h"
#include "sim/trace_jobs.h"

namespace smartmig {
namespace {

Result<std::optional<double>> within(const CsvReader& csv, int column, double low, double high) {
  SMARTMIG_TRY(const std::optional<double> value, csv.optional_number(column));
  if (value && (*value < low || *value > high))
    return csv.error(column, fmt::format("'{}' must lie between {} and {}", csv.text(column), low, high));
  return value;
}

}  // namespace

Result<Workload> read_trace_csv(LineReader lines, const LoadOptions& options) {
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(std::move(lines)));
  SMARTMIG_TRY(const int submit, csv.require("submit_time_s"));
  SMARTMIG_TRY(const int duration, csv.require("duration_s"));
  const int gpus = csv.column("num_gpus"), milli = csv.column("gpu_milli"), memory = csv.column("gpu_mem_mib"),
            kind = csv.column("job_kind"), deadline = csv.column("deadline_s"), context = csv.column("context_tokens"),
            generated = csv.column("generated_tokens");
  TraceJobs jobs(csv.name(), "row number", options);
  std::size_t row = 0, from_tokens = 0, shares = 0;
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) break;
    TraceJob job;
    job.id = std::to_string(++row);
    SMARTMIG_TRY(job.submit_s, within(csv, submit, 0, kMaxSeconds));
    SMARTMIG_TRY(job.duration_s, within(csv, duration, -kMaxSeconds, kMaxSeconds));
    SMARTMIG_TRY(job.deadline_offset_s, within(csv, deadline, -kMaxSeconds, kMaxSeconds));
    SMARTMIG_TRY(const auto count, within(csv, gpus, 0, 1e9));
    job.gpus = count.value_or(1);
    SMARTMIG_TRY(const auto share, within(csv, milli, 0, 1e12));
    shares += job.gpus == 1 && share && *share < 1000;
    SMARTMIG_TRY(const auto mib, within(csv, memory, 0, 1 << 30));
    if (mib) job.mem_mib = int(std::ceil(*mib));
    SMARTMIG_TRY(const auto tokens_in, within(csv, context, 0, 1e12));
    SMARTMIG_TRY(const auto tokens_out, within(csv, generated, 0, 1e12));
    job.kind = csv.text(kind);
    if (!job.duration_s && (tokens_in || tokens_out)) {
      if (options.tokens_per_s <= 0)
        return csv.error(duration,
                         "the trace records tokens, not durations: give --tokens-per-s, the speed of the whole GPU");
      job.duration_s = (tokens_in.value_or(0) + tokens_out.value_or(0)) / options.tokens_per_s;
      if (*job.duration_s > kMaxSeconds) return csv.error(context, "more than 1e10 s at this --tokens-per-s");
      ++from_tokens;
    }
    jobs.add(job);
  }
  if (from_tokens > 0)
    jobs.note(fmt::format("{} durations are (context + generated tokens) / {} tokens per second", from_tokens,
                          options.tokens_per_s));
  if (shares > 0)
    jobs.note(
        fmt::format("gpu_milli is not used: {} rows that asked for a part of one GPU keep their duration", shares));
  return jobs.finish();
}

}  // namespace smartmig
