// Cancel, requeue, hold and the like of many jobs: one question to the owner, one transaction, however many there are.
#include <algorithm>

#include "serve/daemon/daemon_service.h"
#include "serve/daemon/job_choice.h"
#include "serve/daemon/job_json.h"
#include "serve/daemon/service_rules.h"
#include "serve/http/http_types.h"

namespace smartmig {
namespace {

// The job as it stands, live or ended.
Result<JobRecord> record_now(const Daemon& daemon, QueueId id) {
  const JobBook& book = daemon.state().book;
  if (const JobRecord* live = book.find(id)) return *live;
  SMARTMIG_TRY(const auto row, book.stored(id));
  if (!row) return not_found("there is no job {}", id);
  return from_row(*row);
}

Result<JobRecord> cancelled(Daemon& daemon, const Caller& caller, const JobRecord& job) {
  if (is_final(job.status)) return busy_error("job {} has ended already: {}", job.id, name_of(job.status));
  JobRecord gone = job;
  gone.status.found(JobStatus::kCancelled);
  gone.reason = cancelled_by(caller, job);
  gone.times.ended = daemon.now();
  SMARTMIG_RETURN_IF_ERROR(daemon.jobs().cancel(job.id, gone.reason));
  const JobRecord* stopping = daemon.state().book.find(job.id);
  return stopping ? *stopping : gone;
}

Result<JobRecord> changed(Daemon& daemon, const Caller& caller, JobVerb verb, const nlohmann::json& set,
                          const JobRecord& job) {
  if (verb == JobVerb::kCancel) return cancelled(daemon, caller, job);
  if (verb != JobVerb::kRequeue && is_final(job.status))
    return busy_error("job {} has ended already: {}", job.id, name_of(job.status));
  JobRequests& jobs = daemon.jobs();
  const bool for_another = caller.uid != job.owner.uid;
  Result<Ok> done = Ok{};
  switch (verb) {
    case JobVerb::kCancel:
      break;
    case JobVerb::kRequeue:
      done = jobs.requeue(job.id, caller.operator_rights);
      break;
    case JobVerb::kHold:
      done = jobs.hold(job.id, for_another);
      break;
    case JobVerb::kRelease:
      done = jobs.release(job.id, caller.operator_rights);
      break;
    case JobVerb::kFront:
      done = jobs.to_front(job.id);
      break;
    case JobVerb::kSuspend:
      done = jobs.suspend(job.id);
      break;
    case JobVerb::kContinue:
      done = jobs.resume(job.id);
      break;
    case JobVerb::kUpdate:
      done = jobs.update(job.id, set, caller.operator_rights);
      break;
  }
  if (!done) return done.error();
  return record_now(daemon, job.id);
}

}  // namespace

Result<DaemonService::Json> DaemonService::change_jobs(const Caller& caller, JobVerb verb, const Json& body) {
  if (verb == JobVerb::kFront && !caller.operator_rights)
    return no_permission(
        "moving jobs before those of others is for the operator: root, or the user who runs the daemon");
  const bool updates = verb == JobVerb::kUpdate;
  SMARTMIG_TRY(JobChoice choice,
               read_job_choice(caller, body, updates ? std::vector<std::string>{"set"} : std::vector<std::string>{}));
  const Json set = body.contains("set") ? body["set"] : Json::object();
  if (updates && !set.is_object()) return invalid("set: an object with what is to be changed");
  SMARTMIG_RETURN_IF_ERROR(find_ended(choice, store_));
  return ask<Json>(
      [&](Daemon& daemon) -> Result<Json> {
        std::vector<Json> jobs, refused;
        for (const QueueId id : chosen_jobs(choice, daemon)) {
          Result<JobRecord> job = record_now(daemon, id);
          if (job && !may_touch(caller, *job)) job = not_yours(number(id));
          if (job) job = changed(daemon, caller, verb, set, *job);
          if (job)
            jobs.push_back(shown_to(caller, daemon, *job));
          else
            refused.push_back(
                {{"id", number(id)}, {"code", code_name(job.error().code)}, {"message", job.error().what}});
        }
        std::reverse(jobs.begin(), jobs.end());
        std::reverse(refused.begin(), refused.end());
        return Json{{"jobs", std::move(jobs)}, {"refused", std::move(refused)}};
      },
      true);
}

}  // namespace smartmig
