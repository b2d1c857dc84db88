#include "sim/sacct.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "sim/trace_jobs.h"
#include "sim/traces/trace_reading.h"

namespace smartmig {
namespace {

int column_of(const std::vector<std::string_view>& header, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    for (std::size_t i = 0; i < header.size(); ++i)
      if (trim(header[i]) == name) return int(i);
  return -1;
}

// "2026-11-17T17:37:22", a local time of the cluster: seconds since 1970 as if it were UTC.
std::optional<double> slurm_instant(std::string_view text) {
  if (text.size() != 19 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':')
    return std::nullopt;
  const auto part = [&](std::size_t at, std::size_t size, int low, int high) {
    const auto value = parse_int(text.substr(at, size));
    return value && *value >= low && *value <= high ? int(*value) : -1;
  };
  const int year = part(0, 4, 1970, 2200), month = part(5, 2, 1, 12), day = part(8, 2, 1, 31),
            hour = part(11, 2, 0, 23), minute = part(14, 2, 0, 59), second = part(17, 2, 0, 60);
  if (year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(unsigned(month)),
                                         std::chrono::day(unsigned(day))};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return double(days) * 86400 + hour * 3600 + minute * 60 + second;
}

// The GPUs in "billing=8,cpu=8,gres/gpu:a100=1,gres/gpu=1,node=1"; the count without a type is the sum.
double gpus_in(std::string_view tres) {
  double typed = 0;
  for (const std::string_view item : split(tres, ',')) {
    const auto equals = item.find('=');
    if (equals == item.npos) continue;
    const std::string_view name = item.substr(0, equals);
    const double count = parse_double(item.substr(equals + 1)).value_or(0);
    if (name == "gres/gpu") return count;
    if (name.starts_with("gres/gpu:")) typed += count;
    if (name == "gres/mig" && count > 0) return 1;
  }
  return typed;
}

// The MiB in "cpu=00:01:02,gres/gpumem=18004M,gres/gpuutil=97"; a number without a unit is bytes. -1: not given.
int gpu_memory_in(std::string_view tres) {
  for (const std::string_view item : split(tres, ',')) {
    if (!item.starts_with("gres/gpumem=")) continue;
    std::string_view text = item.substr(item.find('=') + 1);
    double unit = 1.0 / (1024 * 1024);
    if (!text.empty()) {
      const auto at = std::string_view("KMGT").find(text.back());
      if (at != text.npos) {
        unit = at == 0 ? 1.0 / 1024 : at == 1 ? 1 : at == 2 ? 1024 : 1024 * 1024;
        text.remove_suffix(1);
      }
    }
    const auto value = parse_double(text);
    if (value && *value > 0 && *value * unit < 1e9) return int(std::ceil(*value * unit));
  }
  return -1;
}

// What the history's own times and GPUs say, before any simulation.
struct Tally {
  double waits = 0, wait_s = 0, kept_gpu_s = 0, left_out_gpu_s = 0;
  void add(double gpus, double duration_s, std::optional<double> wait) {
    (gpus > 1 ? left_out_gpu_s : kept_gpu_s) += gpus * duration_s;
    if (gpus <= 0 || gpus > 1 || !wait) return;
    waits += 1;
    wait_s += *wait;
  }
  void tell(TraceReading& reading) const {
    if (waits > 0) reading.recorded.wait_s = wait_s / waits;
    reading.recorded.gpu_hours = kept_gpu_s / 3600;
    reading.recorded.left_out_gpu_hours = left_out_gpu_s / 3600;
  }
};

}  // namespace

bool is_sacct_header(std::string_view line) {
  const auto header = split(line, '|');
  return header.size() >= 3 && column_of(header, {"JobIDRaw", "JobID"}) >= 0 && column_of(header, {"Submit"}) >= 0;
}

Result<Workload> read_sacct(LineReader lines, const LoadOptions& options) {
  SMARTMIG_TRY(TraceJobs jobs, TraceJobs::open(lines.name(), "job", options));
  std::vector<std::string_view> fields;
  std::size_t columns = 0, never_ran = 0, steps = 0, unfinished = 0;
  int id = -1, submit = -1, elapsed = -1, state = -1, tres = -1, start = -1, title = -1, used = -1;
  std::optional<double> first;
  struct Row {
    std::string id;
    double submit_s, duration_s, gpus;
    std::optional<double> wait_s;
    std::string title;
  };
  std::vector<Row> rows;
  std::unordered_map<std::string, int> memory;  // by job, from its steps
  const auto remember = [&](std::string_view job, std::string_view line_usage) {
    const int mib = gpu_memory_in(line_usage);
    if (mib < 0) return;
    int& most = memory.try_emplace(std::string(job), mib).first->second;
    most = std::max(most, mib);
  };
  for (;;) {
    SMARTMIG_TRY(const auto line, lines.next());
    if (!line) break;
    if (trim(*line).empty()) continue;
    fields = split(*line, '|');
    if (columns == 0) {
      columns = fields.size();
      id = column_of(fields, {"JobIDRaw", "JobID"});
      submit = column_of(fields, {"Submit"});
      elapsed = column_of(fields, {"ElapsedRaw"});
      state = column_of(fields, {"State"});
      tres = column_of(fields, {"AllocTRES", "ReqTRES"});
      start = column_of(fields, {"Start"});
      title = column_of(fields, {"JobName"});
      used = column_of(fields, {"TRESUsageInMax"});
      if (id < 0 || submit < 0 || elapsed < 0 || state < 0 || tres < 0)
        return invalid(
            "{}: its header lacks one of JobIDRaw, Submit, ElapsedRaw, State and AllocTRES; use "
            "sacct -a -X -P --format=JobIDRaw,Submit,ElapsedRaw,State,AllocTRES",
            lines.name());
      continue;
    }
    if (fields.size() != columns)
      return invalid("{} line {}: {} columns, the header has {}", lines.name(), lines.line(), fields.size(), columns);
    const std::string_view name = trim(fields[std::size_t(id)]);
    if (name.find('.') != name.npos) {
      ++steps;
      if (used >= 0) remember(name.substr(0, name.find('.')), fields[std::size_t(used)]);
      continue;
    }
    const std::string_view word = trim(fields[std::size_t(state)]);
    if (word.starts_with("PENDING") || word.starts_with("RUNNING") || word.starts_with("SUSPENDED")) {
      ++unfinished;
      continue;
    }
    const auto at = slurm_instant(trim(fields[std::size_t(submit)]));
    if (!at)
      return invalid("{} line {}: Submit '{}' is not a time such as 2026-11-17T17:37:22", lines.name(), lines.line(),
                     fields[std::size_t(submit)]);
    const auto ran = parse_double(trim(fields[std::size_t(elapsed)]));
    if (!ran || *ran < 0 || *ran > kMaxSeconds)
      return invalid("{} line {}: ElapsedRaw '{}' is not a number of seconds", lines.name(), lines.line(),
                     fields[std::size_t(elapsed)]);
    if (*ran == 0) {
      ++never_ran;
      continue;
    }
    if (used >= 0) remember(name, fields[std::size_t(used)]);
    std::optional<double> wait;
    if (start >= 0)
      if (const auto began = slurm_instant(trim(fields[std::size_t(start)])); began && *began >= *at)
        wait = *began - *at;
    first = std::min(first.value_or(*at), *at);
    rows.push_back({std::string(name), *at, *ran, gpus_in(fields[std::size_t(tres)]), wait,
                    title < 0 ? std::string() : std::string(trim(fields[std::size_t(title)]))});
  }
  if (columns == 0) return invalid("{} is empty", lines.name());
  // Whole days before the first submission are dropped, which keeps the hour of the day.
  const double origin = first ? std::floor(*first / 86400) * 86400 : 0;
  Tally tally;
  std::size_t measured = 0;
  for (const Row& row : rows) {
    if (jobs.known(row.id)) continue;  // of a requeued job the first run counts
    TraceJob job;
    job.id = row.id;
    job.submit_s = row.submit_s - origin;
    job.duration_s = row.duration_s;
    job.gpus = row.gpus;
    job.kind = row.title;
    if (const auto known = memory.find(row.id); known != memory.end()) job.mem_mib = known->second;
    measured += job.mem_mib >= 0;
    tally.add(row.gpus, row.duration_s, row.wait_s);
    jobs.add(job);
  }
  if (never_ran > 0) jobs.note(fmt::format("{} jobs that never ran left out", never_ran));
  if (unfinished > 0) jobs.note(fmt::format("{} jobs that have not ended left out", unfinished));
  if (measured > 0) jobs.note(fmt::format("memory of {} jobs: the peak that Slurm measured", measured));
  if (options.reading != nullptr) tally.tell(*options.reading);
  if (steps > 0) jobs.note(fmt::format("{} lines of job steps are not counted as jobs", steps));
  return jobs.finish();
}

}  // namespace smartmig
