#include "serve/daemon/job_json.h"

#include <algorithm>
#include <cstdlib>

#include "base/json.h"
#include "base/printable.h"

namespace smartmig {
namespace {

constexpr double kSpreadOfBefore = 0.7;  // of rows that have none: as a stranger's told time

Json instant_or_null(UnixTime t) { return t == kNotYet ? Json() : Json(unix_seconds(t)); }

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
  Json state = {{"array_id", number(job.array.id)},
                {"array_index", job.array.index},
                {"array", {job.array.count, job.array.first, job.array.last, job.array.step}},
                {"held_by", int(job.held_by)},
                {"suspended", job.suspended ? job.suspended->count() : -1},
                {"suspensions", job.counts.suspended},
                {"gid", job.owner.gid},
                {"user", job.owner.name},
                {"reason", job.reason},
                {"wish", int(job.stop_reason)},
                {"first_started", unix_us(job.times.first_started)},
                {"started", unix_us(job.times.started)},
                {"attempt", job.attempt},
                {"gpu", job.place.gpu},
                {"slice", to_string(job.place.slice)},
                {"device", job.place.device},
                {"exit_code", job.exit.code},
                {"exit_signal", job.exit.signal},
                {"estimate", job.work.estimate.count()},
                {"estimate_source", int(job.work.source)},
                {"spread", job.work.spread},
                {"told", job.work.told.count()},
                {"remaining", job.work.remaining},
                {"slice_s", job.work.slice_s},
                {"mem_mib", job.memory.mib},
                {"peak_mib", job.memory.peak_mib},
                {"tensors_mib", job.memory.tensors_mib},
                {"joules", job.energy.joules},
                {"energy_source", int(job.energy.source)},
                {"preemptions", job.counts.preempted},
                {"oom_restarts", job.counts.out_of_memory},
                {"overruns", job.counts.overruns},
                {"ahead_began", unix_us(job.ahead.began)},
                {"ahead_refused", job.ahead.refused},
                {"held_s", job.ahead.held_s},
                {"hidden_s", job.ahead.hidden_s},
                {"to_cuda_s", job.ahead.to_cuda_s}};
  if (job.work.shape[0] > 0) state["shape"] = job.work.shape;
  if (job.launch.command) state["long_command"] = true;
  if (job.launch.script != 0) state["script"] = fmt::format("{:016x}", job.launch.script);
  row.state = json_dump(state);
  return row;
}

Result<JobRecord> from_row(const JobRow& row) {
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
  SMARTMIG_TRY(const JsonObject object,
               JsonObject::open(state, name, "", {"array_id",    "array_index",  "gid",           "user",
                                                  "reason",      "wish",         "first_started", "started",
                                                  "attempt",     "gpu",          "slice",         "device",
                                                  "exit_code",   "exit_signal",  "estimate",      "estimate_source",
                                                  "remaining",   "mem_mib",      "peak_mib",      "joules",
                                                  "preemptions", "oom_restarts", "overruns",      "energy_source",
                                                  "array",       "held_by",      "suspended",     "suspensions",
                                                  "slice_s",     "ahead_began",  "ahead_refused", "held_s",
                                                  "hidden_s",    "to_cuda_s",    "shape",         "spread",
                                                  "told",        "tensors_mib",  "script",        "long_command"}));
  constexpr std::int64_t kLargest = std::int64_t(1) << 62;
  const auto text = [&](const char* key) {
    return state.contains(key) && state[key].is_string() ? state[key].get<std::string>() : "";
  };
  job.launch.script = std::strtoull(text("script").c_str(), nullptr, 16);
  SMARTMIG_TRY(job.launch.command, object.yes_or_no("long_command", false));
  job.owner.name = text("user");
  job.reason = text("reason");
  job.place.slice = parse_job_slice(text("slice"));
  job.place.device = text("device");
  SMARTMIG_TRY(const std::int64_t array_id, object.integer("array_id", 0, kLargest));
  SMARTMIG_TRY(const std::int64_t gid, object.integer("gid", 0, 0xFFFFFFFF));
  SMARTMIG_TRY(const std::int64_t wish, object.integer("wish", 0, int(StopReason::kLarger)));
  SMARTMIG_TRY(const std::int64_t source, object.integer("estimate_source", 0, 2));
  SMARTMIG_TRY(const std::int64_t energy, object.integer("energy_source", 0, kEnergySources - 1,
                                                         int(EnergySource::kModel)));  // rows of before have none
  SMARTMIG_TRY(const std::int64_t held, object.integer("held_by", 0, int(HeldBy::kOperator), 0));
  job.held_by = HeldBy(held);
  SMARTMIG_TRY(const std::int64_t suspended, object.integer("suspended", -1, kLargest, -1));
  if (suspended >= 0) job.suspended = Time(suspended);
  SMARTMIG_TRY(const std::int64_t suspensions, object.integer("suspensions", 0, INT32_MAX, 0));
  job.counts.suspended = int(suspensions);
  job.array.id = QueueId(array_id);
  if (const Json* all = object.find("array"); all && all->is_array() && all->size() == 4) {
    int* const parts[] = {&job.array.count, &job.array.first, &job.array.last, &job.array.step};
    for (std::size_t i = 0; i < 4; ++i) {
      SMARTMIG_TRY(const std::int64_t value, object.integer_in((*all)[i], "array", 0, INT32_MAX));
      *parts[i] = int(value);
    }
  }
  job.owner.gid = std::uint32_t(gid);
  job.stop_reason = StopReason(wish);
  job.energy.source = EnergySource(energy);
  job.work.source = EstimateSource(source);
  const auto instant = [&](const char* key, UnixTime& target) -> Result<Ok> {
    SMARTMIG_TRY(const std::int64_t us, object.integer(key, -1, kLargest));
    target = from_unix_us(us);
    return Ok{};
  };
  const auto number = [&](const char* key, int& target) -> Result<Ok> {
    SMARTMIG_TRY(const std::int64_t value, object.integer(key, -1, INT32_MAX));
    target = int(value);
    return Ok{};
  };
  SMARTMIG_RETURN_IF_ERROR(instant("first_started", job.times.first_started));
  SMARTMIG_RETURN_IF_ERROR(instant("started", job.times.started));
  SMARTMIG_TRY(const std::int64_t estimate_us, object.integer("estimate", -1, kLargest));
  job.work.estimate = Time(estimate_us);
  SMARTMIG_TRY(job.work.spread, object.number("spread", 0, 10, kSpreadOfBefore));
  SMARTMIG_TRY(const std::int64_t told_us, object.integer("told", 0, kLargest, 0));
  job.work.told = Time(told_us);
  SMARTMIG_RETURN_IF_ERROR(number("array_index", job.array.index));
  SMARTMIG_RETURN_IF_ERROR(number("attempt", job.attempt));
  SMARTMIG_RETURN_IF_ERROR(number("gpu", job.place.gpu));
  SMARTMIG_RETURN_IF_ERROR(number("exit_code", job.exit.code));
  SMARTMIG_RETURN_IF_ERROR(number("exit_signal", job.exit.signal));
  SMARTMIG_RETURN_IF_ERROR(number("mem_mib", job.memory.mib));
  SMARTMIG_RETURN_IF_ERROR(number("peak_mib", job.memory.peak_mib));
  SMARTMIG_TRY(const std::int64_t tensors, object.integer("tensors_mib", -1, INT32_MAX, -1));  // rows of before: none
  job.memory.tensors_mib = int(tensors);
  SMARTMIG_RETURN_IF_ERROR(number("preemptions", job.counts.preempted));
  SMARTMIG_RETURN_IF_ERROR(number("oom_restarts", job.counts.out_of_memory));
  SMARTMIG_RETURN_IF_ERROR(number("overruns", job.counts.overruns));
  if (const Json* shape = object.find("shape")) {
    if (!shape->is_array() || shape->size() != job.work.shape.size()) return object.error("shape", "is no list of 8");
    for (std::size_t i = 0; i < shape->size(); ++i) {
      if (!(*shape)[i].is_number() || !((*shape)[i].get<double>() >= 0 && (*shape)[i].get<double>() <= 1e6))
        return object.error("shape", "holds what is no share");
      job.work.shape[i] = (*shape)[i].get<double>();
    }
  }
  SMARTMIG_TRY(job.work.remaining, object.number("remaining", 0, 1));
  SMARTMIG_TRY(job.work.slice_s, object.number("slice_s", 0, 1e18, 0));  // rows of before have none
  SMARTMIG_TRY(job.energy.joules, object.number("joules", 0, 1e18));
  SMARTMIG_TRY(const std::int64_t ahead, object.integer("ahead_began", -1, kLargest, -1));
  job.ahead.began = from_unix_us(ahead);
  job.ahead.refused = text("ahead_refused");
  SMARTMIG_TRY(job.ahead.held_s, object.number("held_s", 0, 1e18, 0));
  SMARTMIG_TRY(job.ahead.hidden_s, object.number("hidden_s", 0, 1e18, 0));
  SMARTMIG_TRY(job.ahead.to_cuda_s, object.number("to_cuda_s", -1, 1e18, -1));
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
      {"ahead_at", ended ? Json() : instant_or_null(job.ahead.began)},
      {"ahead_refused", printable(job.ahead.refused)},
      {"held_s", job.ahead.held_s},
      {"hidden_s", job.ahead.hidden_s},
      {"to_cuda_s", job.ahead.to_cuda_s >= 0 ? Json(job.ahead.to_cuda_s) : Json()},
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
       {{"joules_j", job.energy.joules}, {"source", std::string("attributed from ") + name_of(job.energy.source)}}},
      {"cost", shown.cost ? Json(*shown.cost) : Json()},
      {"preemptions", job.counts.preempted},
      {"oom_restarts", job.counts.out_of_memory},
      {"priority", job.spec.priority},
      {"min_slices", job.spec.min_slices},
      {"max_slices", job.spec.max_slices > 0 ? Json(job.spec.max_slices) : Json()},
      {"profile", printable(job.spec.profile)},
      {"exclusive", job.spec.exclusive}};
  if (shown.with_command) out["command"] = shown.with_spec ? job.spec.command : shown_command(job.spec.command);
  if (shown.with_spec) out["spec"] = Json::parse(to_json(job.spec, false));
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
          {"joules_j", job.attempt > 0 ? Json(job.energy.joules) : Json()},
          {"cost", job.attempt > 0 && shown.cost ? Json(*shown.cost) : Json()},
          {"priority", job.spec.priority},
          {"attempt", job.attempt}};
}

}  // namespace smartmig
