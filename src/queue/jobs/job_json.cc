#include "queue/jobs/job_json.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "base/json.h"
#include "base/printable.h"

namespace smartmig {
namespace {

constexpr double kSpreadOfBefore = 0.7;  // of rows that have none: as a stranger's told time

// Where its owner reaches what it serves.
Json url_of(const JobRecord& job) {
  if (!job.spec.port || *job.spec.port == 0) return Json();
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return fmt::format("http://{}:{}/", host, *job.spec.port);
}

constexpr std::int64_t kLargest = std::int64_t(1) << 62;

Json instant_or_null(UnixTime t) { return t == kNotYet ? Json() : Json(unix_seconds(t)); }

// The state of a job as its row of the store holds it, one key each.
struct StateField {
  const char* key;
  std::function<Json(const JobRecord&)> write;  // null: left out
  std::function<Result<Ok>(const JsonObject&, JobRecord&)> read;
};

// `at`: the field of a record. Rows of older programs lack what has a fallback.
template <class At>
StateField integer_state(const char* key, At at, std::int64_t low, std::int64_t high,
                         std::optional<std::int64_t> fallback = {}) {
  return {key, [at](const JobRecord& job) { return Json(std::int64_t(at(job))); },
          [=](const JsonObject& in, JobRecord& job) -> Result<Ok> {
            SMARTMIG_TRY(const std::int64_t value,
                         fallback ? in.integer(key, low, high, *fallback) : in.integer(key, low, high));
            at(job) = std::remove_reference_t<decltype(at(job))>(value);
            return Ok{};
          }};
}

template <class At>
StateField number_state(const char* key, At at, double low, double high, std::optional<double> fallback = {}) {
  return {key, [at](const JobRecord& job) { return Json(at(job)); },
          [=](const JsonObject& in, JobRecord& job) -> Result<Ok> {
            SMARTMIG_TRY(at(job), fallback ? in.number(key, low, high, *fallback) : in.number(key, low, high));
            return Ok{};
          }};
}

template <class At>
StateField duration_state(const char* key, At at, std::int64_t low, std::optional<std::int64_t> fallback = {}) {
  return {key, [at](const JobRecord& job) { return Json(at(job).count()); },
          [=](const JsonObject& in, JobRecord& job) -> Result<Ok> {
            SMARTMIG_TRY(const std::int64_t us,
                         fallback ? in.integer(key, low, kLargest, *fallback) : in.integer(key, low, kLargest));
            at(job) = Time(us);
            return Ok{};
          }};
}

template <class At>
StateField instant_state(const char* key, At at, std::optional<std::int64_t> fallback = {}) {
  return {key, [at](const JobRecord& job) { return Json(unix_us(at(job))); },
          [=](const JsonObject& in, JobRecord& job) -> Result<Ok> {
            SMARTMIG_TRY(const std::int64_t us,
                         fallback ? in.integer(key, -1, kLargest, *fallback) : in.integer(key, -1, kLargest));
            at(job) = from_unix_us(us);
            return Ok{};
          }};
}

std::string text_in(const JsonObject& in, const char* key) {
  const Json* value = in.find(key);
  return value && value->is_string() ? value->get<std::string>() : "";
}

template <class At>
StateField text_state(const char* key, At at) {
  return {key, [at](const JobRecord& job) { return Json(at(job)); },
          [=](const JsonObject& in, JobRecord& job) -> Result<Ok> {
            at(job) = text_in(in, key);
            return Ok{};
          }};
}

Result<Ok> read_array(const JsonObject& in, JobRecord& job) {
  const Json* all = in.find("array");
  if (!all || !all->is_array() || all->size() != 4) return Ok{};
  int* const parts[] = {&job.array.count, &job.array.first, &job.array.last, &job.array.step};
  for (std::size_t i = 0; i < 4; ++i) {
    SMARTMIG_TRY(const std::int64_t value, in.integer_in((*all)[i], "array", 0, INT32_MAX));
    *parts[i] = int(value);
  }
  return Ok{};
}

Result<Ok> read_revivals(const JsonObject& in, JobRecord& job) {  // rows of older programs have none
  const Json* both = in.find("revivals");
  if (!both || !both->is_array() || both->size() != 2) return Ok{};
  SMARTMIG_TRY(const std::int64_t revived, in.integer_in((*both)[0], "revivals", 0, INT32_MAX));
  SMARTMIG_TRY(const std::int64_t quick, in.integer_in((*both)[1], "revivals", 0, INT32_MAX));
  job.counts.revived = int(revived);
  job.counts.quick_ends = int(quick);
  return Ok{};
}

Result<Ok> read_suspended(const JsonObject& in, JobRecord& job) {
  SMARTMIG_TRY(const std::int64_t left, in.integer("suspended", -1, kLargest, -1));
  if (left >= 0) job.suspended = Time(left);
  return Ok{};
}

Result<Ok> read_shape(const JsonObject& in, JobRecord& job) {
  const Json* shape = in.find("shape");
  if (!shape) return Ok{};
  if (!shape->is_array() || shape->size() != job.work.shape.size()) return in.error("shape", "is not a list of 8");
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if (!(*shape)[i].is_number() || !((*shape)[i].get<double>() >= 0 && (*shape)[i].get<double>() <= 1e6))
      return in.error("shape", "has an invalid share");
    job.work.shape[i] = (*shape)[i].get<double>();
  }
  return Ok{};
}

const std::vector<StateField>& state_fields() {
#define AT(field) \
  [](auto& job) -> auto& { return job.field; }
  static const std::vector<StateField> table = {
      {"array_id", [](const JobRecord& job) { return Json(smartmig::number(job.array.id)); },
       [](const JsonObject& in, JobRecord& job) -> Result<Ok> {
         SMARTMIG_TRY(const std::int64_t id, in.integer("array_id", 0, kLargest));
         job.array.id = QueueId(id);
         return Ok{};
       }},
      integer_state("array_index", AT(array.index), -1, INT32_MAX),
      {"array",
       [](const JobRecord& job) {
         return Json::array({job.array.count, job.array.first, job.array.last, job.array.step});
       },
       read_array},
      integer_state("held_by", AT(held_by), 0, int(HeldBy::kOperator), 0),
      {"suspended", [](const JobRecord& job) { return Json(job.suspended ? job.suspended->count() : -1); },
       read_suspended},
      integer_state("suspensions", AT(counts.suspended), 0, INT32_MAX, 0),
      integer_state("gid", AT(owner.gid), 0, 0xFFFFFFFF),
      text_state("user", AT(owner.name)),
      text_state("reason", AT(reason)),
      integer_state("wish", AT(stop_reason), 0, int(StopReason::kLarger)),
      instant_state("first_started", AT(times.first_started)),
      instant_state("started", AT(times.started)),
      integer_state("attempt", AT(attempt), -1, INT32_MAX),
      integer_state("gpu", AT(place.gpu), -1, INT32_MAX),
      {"slice", [](const JobRecord& job) { return Json(to_string(job.place.slice)); },
       [](const JsonObject& in, JobRecord& job) -> Result<Ok> {
         job.place.slice = parse_job_slice(text_in(in, "slice"));
         return Ok{};
       }},
      text_state("device", AT(place.device)),
      integer_state("exit_code", AT(exit.code), -1, INT32_MAX),
      integer_state("exit_signal", AT(exit.signal), -1, INT32_MAX),
      duration_state("estimate", AT(work.estimate), -1),
      integer_state("estimate_source", AT(work.source), 0, int(EstimateSource::kGuess)),
      number_state("spread", AT(work.spread), 0, 10, kSpreadOfBefore),
      duration_state("told", AT(work.told), 0, 0),
      number_state("remaining", AT(work.remaining), 0, 1),
      number_state("slice_s", AT(work.slice_s), 0, 1e18, 0),
      {"shape", [](const JobRecord& job) { return job.work.shape[0] > 0 ? Json(job.work.shape) : Json(); }, read_shape},
      integer_state("mem_mib", AT(memory.mib), -1, INT32_MAX),
      integer_state("peak_mib", AT(memory.peak_mib), -1, INT32_MAX),
      integer_state("tensors_mib", AT(memory.tensors_mib), -1, INT32_MAX, -1),
      number_state("joules", AT(energy.joules), 0, 1e18),
      integer_state("energy_source", AT(energy.source), 0, kEnergySources - 1, int(EnergySource::kModel)),
      integer_state("preemptions", AT(counts.preempted), -1, INT32_MAX),
      integer_state("oom_restarts", AT(counts.out_of_memory), -1, INT32_MAX),
      {"revivals",
       [](const JobRecord& job) {
         return Json::array({job.counts.revived, job.counts.quick_ends});
       },
       read_revivals},
      integer_state("overruns", AT(counts.overruns), -1, INT32_MAX),
      instant_state("ahead_began", AT(prelaunch.began), -1),
      text_state("ahead_refused", AT(prelaunch.refused)),
      number_state("held_s", AT(prelaunch.held_s), 0, 1e18, 0),
      number_state("hidden_s", AT(prelaunch.hidden_s), 0, 1e18, 0),
      number_state("to_cuda_s", AT(prelaunch.to_cuda_s), -1, 1e18, -1),
      {"long_command", [](const JobRecord& job) { return job.launch.command ? Json(true) : Json(); },
       [](const JsonObject& in, JobRecord& job) -> Result<Ok> {
         SMARTMIG_TRY(job.launch.command, in.yes_or_no("long_command", false));
         return Ok{};
       }},
      {"script",
       [](const JobRecord& job) {
         return job.launch.script ? Json(fmt::format("{:016x}", job.launch.script)) : Json();
       },
       [](const JsonObject& in, JobRecord& job) -> Result<Ok> {
         job.launch.script = std::strtoull(text_in(in, "script").c_str(), nullptr, 16);
         return Ok{};
       }},
  };
#undef AT
  return table;
}

}  // namespace

JobRow to_row(const JobRecord& job, bool with_spec) {
  JobRow row;
  row.id = number(job.id);
  row.uid = job.owner.uid;
  row.status = int(JobStatus(job.status));
  row.final = is_final(job.status);
  row.submitted_us = unix_us(job.times.submitted);
  row.ended_us = unix_us(job.times.ended);
  if (with_spec) row.spec = to_json(job.spec, false);
  row.launch = job.launch.id;
  Json state = Json::object();
  for (const StateField& field : state_fields())
    if (Json value = field.write(job); !value.is_null()) state[field.key] = std::move(value);
  row.state = json_dump(state);
  return row;
}

Result<JobRecord> from_row(const JobRow& row) {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all;
    for (const StateField& field : state_fields()) all.emplace_back(field.key);
    return all;
  }();
  const std::string name = fmt::format("stored job {}", row.id);
  JobRecord job;
  job.id = QueueId(row.id);
  job.owner.uid = row.uid;
  if (row.status < 0 || row.status >= kJobStatuses) return invalid("{}: status {} is not known", name, row.status);
  constexpr std::int64_t kLastInstant = 100'000'000'000'000'000;
  if (row.submitted_us < 0 || row.submitted_us > kLastInstant || row.ended_us < -1 || row.ended_us > kLastInstant)
    return invalid("{}: submitted at {} us, ended at {} us: no such time", name, row.submitted_us, row.ended_us);
  job.status.found(JobStatus(row.status));
  job.times.submitted = from_unix_us(row.submitted_us);
  job.times.ended = from_unix_us(row.ended_us);
  auto spec = parse_job_spec(row.spec, job.times.submitted);
  if (!spec) return invalid("{}: {}", name, spec.error().what);
  job.spec = std::move(*spec);
  job.launch.id = row.launch;
  job.launch.bytes = row.launch_bytes;
  SMARTMIG_TRY(const Json state, parse_json(name, row.state));
  SMARTMIG_TRY(const JsonObject object, JsonObject::open(state, name, "", keys));
  for (const StateField& field : state_fields()) SMARTMIG_RETURN_IF_ERROR(field.read(object, job));
  return job;
}

Time lateness(const JobRecord& job, UnixTime now, std::optional<UnixTime> expected) {
  if (!job.spec.deadline) return Time{0};
  const UnixTime end = is_final(job.status) ? job.times.ended : std::max(now, expected.value_or(now));
  return std::max(Time{0}, end - *job.spec.deadline);
}

std::optional<double> cost_of(const JobRecord& job, const std::optional<EnergyPrices>& prices, UnixTime now,
                              std::optional<UnixTime> expected) {
  if (!prices) return std::nullopt;
  return prices->cost(job.energy.joules, seconds(lateness(job, now, expected)));
}

Json to_json(const JobRecord& job, const JobShown& shown) {
  const bool placed = job.place.gpu >= 0, ended = is_final(job.status);
  Json out = {
      {"id", number(job.id)},
      {"name", title(job)},
      {"user", job.owner.name},
      {"uid", job.owner.uid},
      {"array_id", in_array(job) ? Json(number(job.array.id)) : Json()},
      {"array_index", in_array(job) ? Json(job.array.index) : Json()},
      {"state", name_of(job.status)},
      {"reason", printable(job.reason)},
      {"suspended", job.suspended.has_value()},
      {"group", printable(job.spec.group)},
      {"reservation", printable(job.spec.reservation)},
      {"kind", job.spec.kind},
      {"submitted_at", unix_seconds(job.times.submitted)},
      {"started_at", instant_or_null(job.times.started)},
      {"ended_at", instant_or_null(job.times.ended)},
      {"deadline_at", job.spec.deadline ? Json(unix_seconds(*job.spec.deadline)) : Json()},
      {"begin_at", job.spec.begin ? Json(unix_seconds(*job.spec.begin)) : Json()},
      {"late_s", seconds(lateness(job, shown.now, shown.expected))},
      {"attempt", job.attempt},
      {"ahead_at", ended ? Json() : instant_or_null(job.prelaunch.began)},
      {"ahead_refused", printable(job.prelaunch.refused)},
      {"held_s", job.prelaunch.held_s},
      {"hidden_s", job.prelaunch.hidden_s},
      {"to_cuda_s", job.prelaunch.to_cuda_s >= 0 ? Json(job.prelaunch.to_cuda_s) : Json()},
      {"gpu", placed ? Json(job.place.gpu) : Json()},
      {"slice", placed ? Json(to_string(job.place.slice)) : Json()},
      {"device", placed ? Json(job.place.device) : Json()},
      {"exit_code", ended && job.exit.code >= 0 ? Json(job.exit.code) : Json()},
      {"exit_signal", ended && job.exit.signal > 0 ? Json(job.exit.signal) : Json()},
      {"estimate_s", seconds(job.work.estimate)},
      {"estimate_source", name_of(job.work.source)},
      {"estimate_spread", job.work.spread},
      {"expected_finish_at", shown.expected ? Json(unix_seconds(*shown.expected)) : Json()},
      {"mem_mib", job.memory.mib >= 0 ? Json(job.memory.mib) : Json()},
      {"peak_mib", job.memory.peak_mib >= 0 ? Json(job.memory.peak_mib) : Json()},
      {"tensors_mib", job.memory.tensors_mib >= 0 ? Json(job.memory.tensors_mib) : Json()},
      {"energy",
       {{"energy_j", job.energy.joules}, {"source", std::string("attributed from ") + name_of(job.energy.source)}}},
      {"cost", shown.cost ? Json(*shown.cost) : Json()},
      {"preemptions", job.counts.preempted},
      {"oom_restarts", job.counts.out_of_memory},
      {"priority", job.spec.priority},
      {"min_slices", job.spec.min_slices},
      {"max_slices", job.spec.max_slices > 0 ? Json(job.spec.max_slices) : Json()},
      {"profile", printable(job.spec.profile)},
      {"exclusive", job.spec.exclusive},
      {"container", printable(job.spec.container)},
      {"restarts", job.counts.revived},
      {"url", url_of(job)}};
  if (shown.with_command) out["command"] = shown.with_spec ? job.spec.command : shown_command(job.spec.command);
  if (shown.with_spec) out["spec"] = spec_json(job.spec, false);
  return out;
}

Json short_json(const JobRecord& job, const JobShown& shown) {
  const bool placed = job.place.gpu >= 0;
  return {{"id", number(job.id)},
          {"label", label(job)},
          {"name", title(job)},
          {"user", job.owner.name},
          {"state", name_of(job.status)},
          {"suspended", job.suspended.has_value()},
          {"reason", printable(job.reason)},
          {"kind", job.spec.kind},
          {"submitted_at", unix_seconds(job.times.submitted)},
          {"started_at", instant_or_null(job.times.started)},
          {"ended_at", instant_or_null(job.times.ended)},
          {"deadline_at", job.spec.deadline ? Json(unix_seconds(*job.spec.deadline)) : Json()},
          {"expected_finish_at", shown.expected ? Json(unix_seconds(*shown.expected)) : Json()},
          {"late_s", seconds(lateness(job, shown.now, shown.expected))},
          {"gpu", placed ? Json(job.place.gpu) : Json()},
          {"slice", placed ? Json(to_string(job.place.slice)) : Json()},
          {"mem_mib", job.memory.mib >= 0 ? Json(job.memory.mib) : Json()},
          {"peak_mib", job.memory.peak_mib >= 0 ? Json(job.memory.peak_mib) : Json()},
          {"energy_j", job.attempt > 0 ? Json(job.energy.joules) : Json()},
          {"cost", job.attempt > 0 && shown.cost ? Json(*shown.cost) : Json()},
          {"priority", job.spec.priority},
          {"attempt", job.attempt}};
}

}  // namespace smartmig
