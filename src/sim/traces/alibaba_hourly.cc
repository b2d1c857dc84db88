#include <algorithm>
#include <cmath>
#include <map>

#include "sim/trace_jobs.h"
#include "sim/traces/trace_readers.h"
#include "sim/traces/trace_reading.h"
#include "sim/traces/trace_times.h"

namespace smartmig {
namespace {

struct Pod {
  std::string id, kind;
  double first_hour = 0, gpus = 0, gpu_hours = 0, memory_gib = 0;
};

Result<double> hourly_number(const CsvReader& csv, int column, double high) {
  if (says_unknown(csv.text(column))) return 0.0;
  SMARTMIG_TRY(const double value, csv.number(column));
  if (value < 0 || value > high) return csv.error(column, fmt::format("must lie between 0 and {:g}", high));
  return value;
}

}  // namespace

Result<Workload> read_alibaba_hourly(const TraceSource& source, const TraceFormat& format, const LoadOptions& options) {
  SMARTMIG_TRY(LineReader lines, source.open());
  SMARTMIG_TRY(CsvReader csv, CsvReader::open(std::move(lines), source.dialect));
  const auto at = [&](const char* name) { return csv.column_in_any_case(name); };
  const int id = at("pod_id"), state = at("state_public"), type = at("job_type_public"),
            model = at("model_type_public"), gpus = at("gpu_request"), hours = at("used_gpu_hours"),
            memory = at("avg_gpu_mem_gib"), day = at("day"), hour = at("hour");
  std::vector<Pod> pods;  // by their first row
  std::map<std::string, std::size_t, std::less<>> known;
  std::size_t not_running = 0;
  for (;;) {
    SMARTMIG_TRY(const bool more, csv.next());
    if (!more) break;
    if (csv.empty(id)) return csv.error(id, "must not be empty");
    if (csv.text(state) != "Running" && csv.text(state) != "Succeeded") {
      ++not_running;
      continue;
    }
    SMARTMIG_TRY(const double at_day, hourly_number(csv, day, 100'000));
    SMARTMIG_TRY(const double at_hour, hourly_number(csv, hour, 23));
    const auto [found, added] = known.emplace(std::string(csv.text(id)), pods.size());
    if (added) {
      pods.push_back({found->first, {}, at_day * 24 + at_hour, 0, 0, 0});
      const std::string phase = phase_of_class(csv.text(type));
      const std::string kind = csv.text(model) == "unknown" ? "" : std::string(csv.text(model));
      pods.back().kind = phase.empty() ? kind : kind.empty() ? phase : phase + ":" + kind;
    }
    Pod& pod = pods[found->second];
    pod.first_hour = std::min(pod.first_hour, at_day * 24 + at_hour);
    SMARTMIG_TRY(const double request, hourly_number(csv, gpus, 1e6));
    pod.gpus = std::max(pod.gpus, request);
    SMARTMIG_TRY(const double used, hourly_number(csv, hours, 1e6));
    pod.gpu_hours += used;
    SMARTMIG_TRY(const double gib, hourly_number(csv, memory, 1e5));
    pod.memory_gib = std::max(pod.memory_gib, gib);
  }
  if (options.reading != nullptr) {
    options.reading->used = {{"id", "pod_id", ""},
                             {"submit", "day and hour of the pod's first running row", "h"},
                             {"duration", "sum of used_gpu_hours over gpu_request", "h"},
                             {"gpus", "gpu_request", ""},
                             {"memory", "most avg_gpu_mem_gib", "gib"},
                             {"class", "job_type_public", ""},
                             {"kind", "model_type_public", ""}};
    options.reading->missing = {{"deadline", "drawn (--missing-slack A-B or none)"}};
    for (const std::string& column : csv.header())
      if (std::find(format.known_by.begin(), format.known_by.end(), column) == format.known_by.end() &&
          column != "avg_gpu_mem_gib")
        options.reading->unused.push_back(column);
  }
  SMARTMIG_TRY(TraceJobs jobs, TraceJobs::open(source.name, "pod id", options));
  std::size_t shares = 0;
  for (const Pod& pod : pods) {
    TraceJob job;
    job.id = pod.id;
    job.submit_s = pod.first_hour * 3600;
    job.gpus = pod.gpus;
    shares += pod.gpus > 0 && pod.gpus < 1;
    if (pod.gpus > 0 && pod.gpu_hours > 0) job.duration_s = std::min(kMaxSeconds, pod.gpu_hours / pod.gpus * 3600);
    job.kind = pod.kind;
    if (pod.memory_gib > 0) job.mem_mib = int(std::ceil(pod.memory_gib * 1024));
    jobs.add(job);
  }
  jobs.note(
      fmt::format("rows of the same pod are one job; {} rows of pods that did not run are left out", not_running));
  if (shares > 0)
    jobs.note(fmt::format(
        "gpu_request below 1 is not used: {} pods that asked for a part of one GPU keep their duration", shares));
  return jobs.finish();
}

}  // namespace smartmig
