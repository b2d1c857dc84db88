// Orders about single jobs of the queue: hold, release, to the front, suspend, continue, update.
#include <algorithm>
#include <cstdint>

#include "base/json.h"
#include "serve/daemon/job_requests.h"

namespace smartmig {
namespace {

const std::vector<std::string> kUpdatable = {"deadline_at", "deadline_s", "priority",        "mem_mib", "time_limit_s",
                                             "estimate_s",  "begin_at",   "estimate_slices", "begin_s"};

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
    return busy_error("job {} is {}: only a waiting job can be held; smartmig suspend stops a running one for a while",
                      id, name_of(job->status));
  if (job->held_by == HeldBy::kOperator) return Ok{};
  job->held_by = by_operator ? HeldBy::kOperator : HeldBy::kOwner;
  session_.note("held", fmt::format("\"job\":{},\"by_operator\":{}", id, by_operator));
  book_.changed(*job);
  present_anew(*job);
  lifecycle_.check_dependencies(*job);
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
    if (is_waiting(job->status)) lifecycle_.check_dependencies(*job);
    return Ok{};
  }
  if (job->held_by == HeldBy::kNobody)
    return busy_error("job {} is not held{}", id, job->status == JobStatus::kHeld ? ": it " + job->reason : "");
  if (job->held_by == HeldBy::kOperator && !by_operator)
    return no_permission("job {} is held by the operator, who alone may release it", id);
  job->held_by = HeldBy::kNobody;
  session_.note("released", fmt::format("\"job\":{}", id));
  book_.changed(*job);
  if (is_waiting(job->status)) lifecycle_.check_dependencies(*job);  // else processes that began ahead are ending
  return Ok{};
}

Result<Ok> JobRequests::to_front(QueueId id) {
  JobRecord* job = book_.find(id);
  if (!job) return not_live(id);
  if (!is_waiting(job->status))
    return busy_error("job {} is {}: only a waiting job can be moved", id, name_of(job->status));
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
    return busy_error("job {} is {}: only a running job can be suspended; smartmig hold keeps a waiting one", id,
                      name_of(job->status));
  if (!job->suspended) suspensions_.suspend(*job);
  return Ok{};
}

Result<Ok> JobRequests::resume(QueueId id) {
  JobRecord* job = book_.find(id);
  if (!job) return not_live(id);
  if (!job->suspended) return busy_error("job {} is not suspended: it is {}", id, name_of(job->status));
  if (const auto others = suspensions_.others_beside(*job))
    return busy_error("job {} stays suspended: {}; try again once that has ended", id, others.words);
  suspensions_.resume(*job);
  return Ok{};
}

// The changes are read as a part of a spec, by the same rules.
Result<Ok> JobRequests::update(QueueId id, const nlohmann::json& changes, bool by_operator) {
  JobRecord* job = book_.find(id);
  if (!job) return not_live(id);
  SMARTMIG_TRY(const JsonObject known, JsonObject::open(changes, "set", "", kUpdatable));
  if (changes.empty()) return invalid("nothing is to be changed: {}", fmt::join(kUpdatable, ", "));
  nlohmann::json merged = nlohmann::json::parse(to_json(job->spec, false));
  for (const auto& [key, value] : changes.items()) {
    const std::string kind = key.substr(0, key.find('_'));
    if (kind == "deadline" || kind == "begin")
      for (const char* form : {"_at", "_s"}) merged.erase(kind + form);
    if (value.is_null())
      merged.erase(key);
    else
      merged[key] = value;
  }
  SMARTMIG_TRY(const JobSpec asked, parse_job_spec(json_dump(merged), session_.now()));
  const bool waits = is_waiting(job->status);
  for (const auto& [key, value] : changes.items())
    if (!waits && !key.starts_with("deadline") && key != "priority")
      return busy_error("job {} is {}: its deadline and priority alone can still be changed", id, name_of(job->status));
  if (asked.priority > std::max(0, job->spec.priority) && !by_operator)
    return no_permission("priority {} is above 0, which root alone may give", asked.priority);
  JobRecord changed = *job;
  changed.spec.deadline = asked.deadline;
  changed.spec.priority = asked.priority;
  changed.spec.mem_mib = asked.mem_mib;
  changed.spec.time_limit = asked.time_limit;
  changed.spec.estimate = asked.estimate;
  changed.spec.estimate_slices = asked.estimate_slices;
  changed.spec.begin = asked.begin;
  if (changes.contains("mem_mib")) changed.memory.mib = asked.mem_mib.value_or(-1);
  if (waits) {
    estimates_.estimate(changed);
    SMARTMIG_RETURN_IF_ERROR(session_.belief().fits(changed));
  }
  *job = std::move(changed);
  session_.note("updated", fmt::format("\"job\":{},\"set\":{}", id, json_dump(changes)));
  book_.respecified(*job);
  if (!waits) return Ok{};
  present_anew(*job);
  lifecycle_.check_dependencies(*job);
  return Ok{};
}

}  // namespace smartmig
