#include <algorithm>

#include "base/json.h"
#include "sim/trace_jobs.h"
#include "sim/traces/trace_readers.h"
#include "sim/traces/trace_reading.h"
#include "sim/traces/trace_times.h"

namespace smartmig {
namespace {

Result<std::optional<TraceInstant>> instant_in(const Json& object, const char* key, const std::string& owner) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::optional<TraceInstant>();
  if (!found->is_string()) return invalid("{}: '{}' is not a text", owner, key);
  const std::string text = found->get<std::string>();
  if (says_unknown(text)) return std::optional<TraceInstant>();
  const auto parsed = parse_trace_instant(text, "date");
  if (!parsed) return invalid("{}: '{}' is '{}', not a date such as 2017-10-07 01:12:09", owner, key, text);
  return std::optional<TraceInstant>(*parsed);
}

// The GPUs of one attempt, over all its servers.
double gpus_of(const Json& attempt) {
  double count = 0;
  const auto detail = attempt.find("detail");
  if (detail == attempt.end() || !detail->is_array()) return 0;
  for (const Json& server : *detail)
    if (server.is_object() && server.contains("gpus") && server["gpus"].is_array())
      count += double(server["gpus"].size());
  return count;
}

}  // namespace

Result<Workload> read_philly_json(const TraceSource& source, const TraceFormat&, const LoadOptions& options) {
  SMARTMIG_TRY(const std::string text, source.whole());
  SMARTMIG_TRY(const Json root, parse_json(source.name, text));
  if (!root.is_array()) return invalid("{} is JSON but not a Philly job log, which is a list of jobs", source.name);
  if (options.reading != nullptr) {
    options.reading->layout = fmt::format("JSON, a list of {} jobs", root.size());
    options.reading->used = {{"id", "jobid", ""},
                             {"submit", "submitted_time", "date"},
                             {"duration", "sum of attempts[].end_time - start_time", "date"},
                             {"gpus", "most GPUs of an attempt's detail[].gpus", ""}};
    options.reading->unused = {"status", "vc", "user", "attempts[].detail[].ip"};
    options.reading->missing = {{"deadline", "drawn (--missing-slack A-B or none)"},
                                {"memory", "from data/speeds.csv, by kind"},
                                {"kind", "guessed among training kinds (--default-kind KIND)"}};
  }
  SMARTMIG_TRY(TraceJobs jobs, TraceJobs::open(source.name, "job id", options));
  std::size_t number = 0, retried = 0;
  for (const Json& entry : root) {
    std::string owner = fmt::format("{}, job {} of the list", source.name, ++number);
    if (!entry.is_object()) return invalid("{}: is not an object", owner);
    SMARTMIG_TRY(const JsonObject object, JsonObject::open(entry, owner, ""));
    TraceJob job;
    SMARTMIG_TRY(job.id, object.text("jobid"));
    owner = fmt::format("{}, job {}", source.name, job.id);
    if (jobs.known(job.id)) return invalid("{}: the id is given twice", owner);
    SMARTMIG_TRY(const auto submit, instant_in(entry, "submitted_time", owner));
    if (submit) {
      job.submit_s = seconds(submit->at);
      job.is_date = true;
      job.zone_minutes = submit->zone_minutes;
    }
    job.gpus = 0;
    job.kind = "train";
    std::size_t attempts = 0;
    if (object.has("attempts")) {
      SMARTMIG_TRY(const Json* list, object.list("attempts"));
      for (const Json& attempt : *list) {
        if (!attempt.is_object()) return invalid("{}: an attempt is not an object", owner);
        job.gpus = std::max(job.gpus, gpus_of(attempt));
        SMARTMIG_TRY(const auto start, instant_in(attempt, "start_time", owner));
        SMARTMIG_TRY(const auto end, instant_in(attempt, "end_time", owner));
        if (!start || !end || end->at <= start->at) continue;
        job.duration_s = std::min(kMaxSeconds, job.duration_s.value_or(0) + seconds(end->at - start->at));
        ++attempts;
      }
    }
    retried += attempts > 1;
    jobs.add(job);
  }
  jobs.note(fmt::format("durations are the sum of a job's attempts ({} jobs have several)", retried));
  jobs.note("every job of Philly is training");
  return jobs.finish();
}

}  // namespace smartmig
