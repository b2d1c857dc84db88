// Orders about single jobs of the queue: hold, release, to the front, suspend, continue, update.
#include <algorithm>
#include <cstdint>

#include "live/jobs/job_fields.h"
#include "serve/daemon/job_requests.h"

namespace smartmig {
namespace {

const std::vector<std::string>& updatable_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all;
    for (const JobField& field : job_fields())
      if (field.update != JobField::kUnchangeable) all.emplace_back(field.key);
    return all;
  }();
  return keys;
}

// The changes are read as a part of a spec, by the same rules. Null clears a value.
Result<JobSpec> with_changes(const JobSpec& spec, const Json& changes, UnixTime now) {
  Json merged = spec_json(spec, false);
  for (const auto& [key, value] : changes.items()) {
    for (const JobField& field : job_fields())
      if (field.twin && (key == field.key || key == field.twin)) merged.erase(field.key), merged.erase(field.twin);
    if (value.is_null())
      merged.erase(key);
    else
      merged[key] = value;
  }
  SMARTMIG_TRY(JobSpec asked, read_job_spec(merged, now));
  asked.environment = spec.environment;
  return asked;
}

Error not_live(QueueId id) { return not_found("there is no live job {}", id); }

}  // namespace

// What the policy saw of it is of the past.
void JobRequests::present_anew(JobRecord& job) {
  attempts_.drop_postponed(job.id);
  session_.withdraw(job.id);
  book_.queue_changed();
}

Result<Ok> JobRequests::hold(QueueId id, bool by_operator) {
  JobRecord* job = book_.find(id);
  if (!job) return not_live(id);
  if (!is_waiting(job->status))
    return busy_error("job {} is {}; only a waiting job can be held (smartmig suspend stops a running job)", id,
                      name_of(job->status));
  if (job->held_by == HeldBy::kOperator) return Ok{};
  job->held_by = by_operator ? HeldBy::kOperator : HeldBy::kOwner;
  session_.note("held", fmt::format("\"job\":{},\"by_operator\":{}", id, by_operator));
  book_.changed(*job);
  present_anew(*job);
  transitions_.check_dependencies(*job);
  return Ok{};
}

Result<Ok> JobRequests::release(QueueId id, bool by_operator) {
  JobRecord* job = book_.find(id);
  if (!job) return not_live(id);
  const bool reservation_over = !job->spec.reservation.empty() && !reservations_.find(job->spec.reservation);
  if (job->held_by == HeldBy::kNobody && reservation_over) {
    job->spec.reservation.clear();
    session_.note("released", fmt::format("\"job\":{}", id));
    book_.respecified(*job);
    if (is_waiting(job->status)) transitions_.check_dependencies(*job);
    return Ok{};
  }
  if (job->held_by == HeldBy::kNobody)
    return busy_error("job {} is not held{}", id, job->status == JobStatus::kHeld ? ": it " + job->reason : "");
  if (job->held_by == HeldBy::kOperator && !by_operator)
    return no_permission("the operator holds job {}, and only the operator may release it", id);
  job->held_by = HeldBy::kNobody;
  session_.note("released", fmt::format("\"job\":{}", id));
  book_.changed(*job);
  if (is_waiting(job->status)) transitions_.check_dependencies(*job);  // else processes that began ahead are ending
  return Ok{};
}

Result<Ok> JobRequests::to_front(QueueId id) {
  JobRecord* job = book_.find(id);
  if (!job) return not_live(id);
  if (!is_waiting(job->status))
    return busy_error("job {} is {}; only a waiting job can be moved", id, name_of(job->status));
  const int highest = std::max(job->spec.priority - 1, book_.waiting().highest_priority(id).value_or(INT32_MIN));
  job->spec.priority = std::min(1'000'000, highest + 1);
  session_.note("to_front", fmt::format("\"job\":{},\"priority\":{}", id, job->spec.priority));
  book_.respecified(*job);
  present_anew(*job);
  return Ok{};
}

Result<Ok> JobRequests::suspend(QueueId id) {
  JobRecord* job = book_.find(id);
  if (!job) return not_live(id);
  if (job->status != JobStatus::kRunning)
    return busy_error("job {} is {}; only a running job can be suspended (smartmig hold holds a waiting job)", id,
                      name_of(job->status));
  if (!job->suspended) suspensions_.suspend(*job);
  return Ok{};
}

Result<Ok> JobRequests::resume(QueueId id) {
  JobRecord* job = book_.find(id);
  if (!job) return not_live(id);
  if (!job->suspended) return busy_error("job {} is not suspended: it is {}", id, name_of(job->status));
  if (const auto others = suspensions_.others_beside(*job))
    return busy_error("job {} stays suspended: {}; try again when that has ended", id, others.words);
  suspensions_.resume(*job);
  return Ok{};
}

Result<Ok> JobRequests::update(QueueId id, const Json& changes, bool by_operator) {
  JobRecord* job = book_.find(id);
  if (!job) return not_live(id);
  SMARTMIG_TRY(const JsonObject known, JsonObject::open(changes, "set", "", updatable_keys()));
  if (changes.empty()) return invalid("no change given: {}", fmt::join(updatable_keys(), ", "));
  SMARTMIG_TRY(JobSpec asked, with_changes(job->spec, changes, session_.now()));
  const bool waits = is_waiting(job->status);
  for (const auto& [key, value] : changes.items())
    if (!waits && find_job_field(key)->update != JobField::kAlways)
      return busy_error("job {} is {}; only its deadline and priority can change", id, name_of(job->status));
  if (asked.priority > std::max(0, job->spec.priority) && !by_operator)
    return no_permission("priority {} is above 0; only root may set that", asked.priority);
  JobRecord changed = *job;
  changed.spec = std::move(asked);
  if (changes.contains("mem_mib")) changed.memory.mib = changed.spec.mem_mib.value_or(-1);
  if (waits) {
    estimates_.estimate(changed);
    SMARTMIG_RETURN_IF_ERROR(session_.belief().fits(changed));
  }
  *job = std::move(changed);
  session_.note("updated", fmt::format("\"job\":{},\"set\":{}", id, json_dump(changes)));
  book_.respecified(*job);
  if (!waits) return Ok{};
  present_anew(*job);
  transitions_.check_dependencies(*job);
  return Ok{};
}

}  // namespace smartmig
