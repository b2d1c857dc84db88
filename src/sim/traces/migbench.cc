#include "sim/traces/migbench.h"

#include <algorithm>
#include <unordered_set>

#include "base/json.h"
#include "base/text.h"
#include "sim/trace_jobs.h"
#include "sim/traces/trace_reading.h"

namespace smartmig {
namespace {

constexpr std::int64_t kMostMs = 10'000'000'000'000;  // kMaxSeconds in milliseconds

Result<Job> job_of_line(const JsonObject& line) {
  MigbenchJob asked;
  SMARTMIG_TRY(asked.arrival_ms, line.integer("arrivalMS", 0, kMostMs));
  Job job;
  if (line.has("profile")) {
    SMARTMIG_TRY(const std::string name, line.text("profile"));
    SMARTMIG_TRY(const std::int64_t duration, line.integer("durationMS", 1, kMostMs));
    for (const MigbenchProfile& profile : migbench_profiles())
      if (profile.name == name) job.work[std::size_t(profile.slices - 1)] = std::chrono::milliseconds(duration);
    if (std::all_of(job.work.begin(), job.work.end(), [](Time work) { return work == kCannotRun; }))
      return line.error("profile", fmt::format("'{}' is not a profile of MIGBench", name));
    job.submit = std::chrono::milliseconds(asked.arrival_ms);
  } else {
    SMARTMIG_TRY(asked.compute_core_ms, line.integer("computeCoreMS", 1, kMostMs));
    SMARTMIG_TRY(const std::int64_t memory, line.integer("memoryMB", 0, 81920));
    asked.memory_mb = int(memory);
    job = to_job(asked);
  }
  if (line.has("deadlineMS")) {
    SMARTMIG_TRY(const std::int64_t deadline, line.integer("deadlineMS", 0, kMostMs));
    if (deadline > 0) job.deadline = std::chrono::milliseconds(deadline);
  }
  return job;
}

}  // namespace

const std::vector<MigbenchProfile>& migbench_profiles() {
  static const std::vector<MigbenchProfile> profiles = {
      {"1g.10gb", 1, 14, 10240}, {"2g.20gb", 2, 28, 20480}, {"3g.40gb", 3, 42, 40960}, {"7g.80gb", 7, 100, 81920}};
  return profiles;
}

Job to_job(const MigbenchJob& asked) {
  Job job;
  job.submit = std::chrono::milliseconds(asked.arrival_ms);
  for (const MigbenchProfile& profile : migbench_profiles())
    if (profile.memory_mb >= asked.memory_mb)
      job.work[std::size_t(profile.slices - 1)] =
          std::chrono::milliseconds((asked.compute_core_ms + profile.percent - 1) / profile.percent);
  return job;
}

Result<Workload> read_migbench(const TraceSource& source, const TraceFormat&, const LoadOptions& options) {
  SMARTMIG_TRY(LineReader lines, source.open());
  Workload workload;
  workload.source = source.name;
  workload.reference_gpu = "h100-80gb-sxm";
  std::unordered_set<std::string> seen;
  for (;;) {
    SMARTMIG_TRY(auto line, lines.next());
    if (!line) break;
    if (lines.line() == 1) line = without_byte_order_mark(*line);
    if (trim(*line).empty()) continue;
    const std::string owner = fmt::format("{} line {}", source.name, lines.line());
    SMARTMIG_TRY(const Json json, parse_json(owner, *line));
    SMARTMIG_TRY(const JsonObject object, JsonObject::open(json, owner, ""));
    SMARTMIG_TRY(std::string id, object.text("jobID"));
    if (!seen.insert(id).second) return invalid("{}: the jobID '{}' is given twice", owner, id);
    SMARTMIG_TRY(Job job, job_of_line(object));
    if (const auto& slack = options.slack ? options.slack : options.missing_slack;
        slack && (options.slack || job.deadline == kNever))
      job.deadline = drawn_deadline(job, id, options.seed.value_or(0), *slack);
    workload.jobs.push_back(job);
    workload.names.push_back(std::move(id));
  }
  if (workload.jobs.empty()) return invalid("{} has no jobs", source.name);
  if (options.reading != nullptr) {
    options.reading->layout = "JSON lines";
    options.reading->used = {{"id", "jobID", ""},
                             {"submit", "arrivalMS", "ms"},
                             {"duration", "computeCoreMS / percent of the profile", "ms"},
                             {"memory", "memoryMB", "mib"}};
    options.reading->missing = {{"deadline", "none"}, {"kind", "none: the line gives its times itself"}};
  }
  workload.rules = {
      fmt::format("{} jobs", workload.jobs.size()),
      "times on 1g, 2g, 3g and 7g of an H100-80GB are computeCoreMS over 14, 28, 42 and 100 percent, where the "
      "profile's nominal memory holds memoryMB; no job runs on a 4g",
      options.slack || options.missing_slack
          ? "deadlines: drawn as submit + U(slack) * time on the whole GPU, by a hash of the job id"
          : "jobs without deadlineMS have no deadline",
      "no job can be preempted under hardware costs"};
  return finish_workload(std::move(workload));
}

}  // namespace smartmig
