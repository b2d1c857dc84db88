#include "sim/job_csv.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "base/csv.h"
#include "base/text.h"
#include "mig/catalog.h"
#include "sim/trace_jobs.h"

namespace smartmig {
namespace {

constexpr const char* kColumns[] = {"job_id",    "submit_s",  "deadline_s", "kind",    "work_1g_s", "work_2g_s",
                                    "work_3g_s", "work_4g_s", "work_7g_s",  "mem_mib", "restart_s"};
constexpr const char* kCrowdColumns[] = {"log_slowdown", "beside"};  // optional columns at the end, both or none
enum Column { kId, kSubmit, kDeadline, kKind, kWork, kMemory = kWork + 5, kRestart, kSlowdown, kBeside };
constexpr std::array<int, 5> kSizes = {1, 2, 3, 4, 7};

Result<Ok> check_header(const CsvReader& csv) {
  auto header = csv.header();
  if (header.size() == std::size(kColumns) + std::size(kCrowdColumns) &&
      std::equal(std::begin(kCrowdColumns), std::end(kCrowdColumns), header.begin() + std::size(kColumns)))
    header.resize(std::size(kColumns));
  for (std::size_t i = 0; i < header.size(); ++i) {
    bool known = false;
    for (const char* column : kColumns) known |= header[i] == column;
    if (!known)
      return invalid("{}: unknown column '{}': a job CSV has exactly {}", csv.name(), header[i],
                     fmt::join(kColumns, ","));
    if (i >= std::size(kColumns) || header[i] != kColumns[i])
      return invalid("{}: column {} is '{}': a job CSV has exactly {}", csv.name(), i + 1, header[i],
                     fmt::join(kColumns, ","));
  }
  if (header.size() < std::size(kColumns))
    return invalid("{}: column '{}' is missing: a job CSV has exactly {}", csv.name(), kColumns[header.size()],
                   fmt::join(kColumns, ","));
  return Ok{};
}

// Parses plain decimals exactly, in integers, since a double holds microseconds only up to 285 years. Parses other
// spellings through a double.
std::optional<Time> parse_seconds(std::string_view text) {
  const auto value = parse_double(text);
  if (!value || std::abs(*value) > kMaxSeconds) return std::nullopt;
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative || text.starts_with('+'));
  const auto dot = digits.find('.');
  const std::string_view whole = digits.substr(0, dot);
  std::string fraction(dot == digits.npos ? std::string_view() : digits.substr(dot + 1));
  if (digits.find_first_not_of("0123456789.") != digits.npos || whole.empty() || fraction.size() > 6)
    return from_seconds(*value);
  fraction.resize(6, '0');
  const std::int64_t us = *parse_int(whole) * 1'000'000 + *parse_int(fraction);
  return Time(negative ? -us : us);
}

Result<Time> time_at(const CsvReader& csv, int column, bool negative_allowed) {
  const auto time = parse_seconds(csv.text(column));
  if (!time) return csv.error(column, fmt::format("'{}' is not a number of seconds within 1e10", csv.text(column)));
  if (*time < Time{0} && !negative_allowed)
    return csv.error(column, fmt::format("'{}' must not be negative", csv.text(column)));
  return *time;
}

Result<double> number_at(const CsvReader& csv, int column, double most) {
  SMARTMIG_TRY(const double value, csv.number(column));
  if (!(value >= 0 && value <= most)) return csv.error(column, fmt::format("must lie between 0 and {}", most));
  return value;
}

Result<Job> read_row(const CsvReader& csv) {
  Job job;
  SMARTMIG_TRY(job.submit, time_at(csv, kSubmit, false));
  if (!csv.empty(kDeadline)) {
    SMARTMIG_TRY(job.deadline, time_at(csv, kDeadline, true));
  }
  bool runs = false;
  for (int i = 0; i < int(kSizes.size()); ++i) {
    if (csv.empty(kWork + i)) continue;
    SMARTMIG_TRY(job.work[std::size_t(kSizes[std::size_t(i)] - 1)], time_at(csv, kWork + i, false));
    runs = true;
  }
  if (!runs) return csv.error(kWork, "every work field is empty, so the job runs nowhere");
  if (!csv.empty(kMemory)) {
    SMARTMIG_TRY(const std::int64_t mib, csv.integer(kMemory));
    if (mib < 0 || mib > std::numeric_limits<int>::max())
      return csv.error(kMemory, "must lie between 0 and 2^31 - 1 MiB");
    job.mem_mib = int(mib);
  }
  if (!csv.empty(kRestart)) {
    SMARTMIG_TRY(job.restart, time_at(csv, kRestart, false));
  }
  if (csv.header().size() > kSlowdown && !csv.empty(kSlowdown)) {
    SMARTMIG_TRY(job.crowding.log_slowdown, number_at(csv, kSlowdown, kMostSlowdown));
    if (!csv.empty(kBeside)) {
      SMARTMIG_TRY(job.crowding.beside, number_at(csv, kBeside, kMostBeside));
    }
  }
  return job;
}

std::string format_seconds(Time t) {
  const std::int64_t us = t.count(), size = us < 0 ? -us : us;
  std::string out = fmt::format("{}{}.{:06}", us < 0 ? "-" : "", size / 1'000'000, size % 1'000'000);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

bool has_control_character(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 32) return true;
  return false;
}

Result<std::string> quoted(const std::string& text) {
  if (has_control_character(text))
    return invalid(
        "the name '{}' contains a line break or another control character, which is not allowed in a job CSV", text);
  if (text.find_first_of(",\"") == text.npos && trim(text).size() == text.size()) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

}  // namespace

Result<Workload> read_job_csv(LineReader lines, const LoadOptions& options) {
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(std::move(lines)));
  SMARTMIG_RETURN_IF_ERROR(check_header(csv));
  Workload workload;
  workload.source = csv.name();
  if (!options.gpu.empty()) workload.reference_gpu = options.gpu;
  std::optional<double> days;
  for (const std::string& comment : csv.comments()) {
    const std::string_view text = trim(std::string_view(comment).substr(1));
    if (text.starts_with("gpu=")) workload.reference_gpu = std::string(trim(text.substr(4)));
    if (!text.starts_with("days=")) continue;
    days = parse_double(trim(text.substr(5)));
    if (!days || *days <= 0 || *days > kMaxSeconds / 86400)
      return invalid("{}: '{}' does not give a number of days above 0", csv.name(), comment);
  }
  const auto gpu = Catalog::builtin().find(workload.reference_gpu);
  if (!gpu) return invalid("{}: {}", csv.name(), gpu.error().what);
  workload.reference_gpu = (*gpu)->name();

  std::unordered_map<std::string, int> kinds;
  std::unordered_set<std::string> seen;
  std::size_t drawn = 0;
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) break;
    if (csv.empty(kId)) return csv.error(kId, "must not be empty");
    for (const int column : {kId, kKind})
      if (has_control_character(csv.text(column))) return csv.error(column, "has a control character");
    std::string id(csv.text(kId));
    if (!seen.insert(id).second) return csv.error(kId, fmt::format("'{}' is given twice", id));
    SMARTMIG_TRY(Job job, read_row(csv));
    if (!csv.empty(kKind)) {
      const auto [kind, added] = kinds.emplace(std::string(csv.text(kKind)), int(workload.kinds.size()));
      if (added) workload.kinds.emplace_back(kind->first);
      job.kind = kind->second;
    }
    const bool missing = options.missing_slack && job.deadline == kNever;
    if (const auto& slack = options.slack ? options.slack : options.missing_slack; options.slack || missing) {
      job.deadline = drawn_deadline(job, id, options.seed.value_or(0), *slack);
      ++drawn;
    }
    workload.jobs.push_back(job);
    workload.names.push_back(std::move(id));
  }
  workload.rules.push_back(
      fmt::format("{} jobs from {}, times on {}", workload.jobs.size(), csv.name(), workload.reference_gpu));
  const auto& used = options.slack ? options.slack : options.missing_slack;
  if (used && used->none)
    workload.rules.push_back(options.slack ? "deadlines: none (--slack none)" : "deadlines: as in the file");
  else if (options.slack)
    workload.rules.push_back(
        fmt::format("deadlines: all replaced by submit + U({}, {}) * time on the largest size, by a hash of "
                    "the job id (seed {})",
                    options.slack->low, options.slack->high, options.seed.value_or(0)));
  else if (options.missing_slack)
    workload.rules.push_back(fmt::format(
        "deadlines: {} missing ones drawn as submit + U({}, {}) * time on the largest size, by a hash of the job id "
        "(seed {})",
        drawn, options.missing_slack->low, options.missing_slack->high, options.seed.value_or(0)));
  return finish_workload(std::move(workload), days);
}

Result<std::string> to_job_csv(const Workload& workload) {
  const bool crowded = std::any_of(workload.jobs.begin(), workload.jobs.end(),
                                   [](const Job& job) { return job.crowding.log_slowdown != 0; });
  std::string out =
      fmt::format("# gpu={}\n# days={}\n{}", workload.reference_gpu, workload.days, fmt::join(kColumns, ","));
  out += crowded ? fmt::format(",{}\n", fmt::join(kCrowdColumns, ",")) : "\n";
  std::vector<std::string> kinds{""};
  for (const std::string& kind : workload.kinds) {
    SMARTMIG_TRY(std::string text, quoted(kind));
    kinds.push_back(std::move(text));
  }
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    SMARTMIG_TRY(const std::string id, quoted(workload.name_of(i)));
    out += id + ',' + format_seconds(job.submit) + ',' + (job.deadline == kNever ? "" : format_seconds(job.deadline)) +
           ',';
    out += kinds[std::size_t(job.kind + 1)];
    std::size_t written = 0, sizes = 0;
    for (const int size : kSizes) {
      const Time work = job.work_on(size);
      out += work == kCannotRun ? "," : ',' + format_seconds(work);
      written += work != kCannotRun;
    }
    for (const Time work : job.work) sizes += work != kCannotRun;
    if (sizes != written)
      return invalid("job {} runs on a slice size for which a job CSV has no column (1, 2, 3, 4 and 7)",
                     workload.name_of(i));
    out += job.mem_mib < 0 ? "," : fmt::format(",{}", job.mem_mib);
    out += job.restart < Time{0} ? "," : ',' + format_seconds(job.restart);
    if (crowded && job.crowding.log_slowdown != 0)
      out += fmt::format(",{},{}", job.crowding.log_slowdown, job.crowding.beside);
    else if (crowded)
      out += ",,";
    out += '\n';
  }
  return out;
}

}  // namespace smartmig
