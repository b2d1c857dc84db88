// Cancel, requeue, hold and the like of many jobs: in several questions to the owner, each a transaction, so that others
// are served in between however many jobs there are.
#include <algorithm>
#include <map>

#include "http/http_types.h"
#include "queue/jobs/job_json.h"
#include "serve/api/daemon_service.h"
#include "serve/api/job_choice.h"
#include "serve/api/service_rules.h"

namespace smartmig {
namespace {

// The job as it stands, live or ended.
Result<JobRecord> record_now(const Daemon& daemon, QueueId id) {
  const LiveJobs& book = daemon.state().book;
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
    return no_permission("only the operator (root or the daemon's user) may move jobs to the head of the queue");
  const bool updates = verb == JobVerb::kUpdate;
  SMARTMIG_TRY(JobChoice choice,
               read_job_choice(caller, body, updates ? std::vector<std::string>{"set"} : std::vector<std::string>{}));
  const Json set = body.contains("set") ? body["set"] : Json::object();
  if (updates && !set.is_object()) return invalid("set must be an object with the changes");
  SMARTMIG_RETURN_IF_ERROR(find_ended(choice, store_));
  SMARTMIG_RETURN_IF_ERROR(
      let_in([&](const JobRecord& next, std::size_t tasks) { return means_entering(choice, next, tasks); }));
  std::vector<QueueId> ids;
  SMARTMIG_TRY(Ok chosen, ask<Ok>([&](Daemon& daemon) -> Result<Ok> {
                 ids = chosen_jobs(choice, daemon);
                 // Who runs comes last: a slice that comes free is for none that is to be cancelled next.
                 if (verb == JobVerb::kCancel)
                   std::stable_partition(ids.begin(), ids.end(), [&](QueueId id) {
                     const JobRecord* job = daemon.state().book.find(id);
                     return !job || is_waiting(job->status);
                   });
                 return Ok{};
               }));
  (void)chosen;
  std::map<QueueId, Json> jobs, refused;
  const auto refuse = [&](QueueId id, const Error& error) {
    refused[id] = {{"id", number(id)}, {"code", code_name(error.code)}, {"message", error.what}};
  };
  for (std::size_t done = 0; done < ids.size();) {
    const std::size_t begin = done;
    const auto stored = ask<Ok>(
        [&](Daemon& daemon) -> Result<Ok> {
          const SliceOfTime slice;
          do {
            const QueueId id = ids[done++];
            Result<JobRecord> job = record_now(daemon, id);
            if (job && !may_touch(caller, *job)) job = not_yours(number(id));
            if (job) job = changed(daemon, caller, verb, set, *job);
            if (job)
              jobs[id] = shown_to(caller, daemon, *job);
            else
              refuse(id, job.error());
          } while (done < ids.size() && !slice.over());
          return Ok{};
        },
        true);
    if (stored) continue;
    if (begin == 0) return stored.error();
    for (std::size_t i = begin; i < ids.size(); ++i) {
      jobs.erase(ids[i]);
      refuse(ids[i], stored.error());
    }
    break;
  }
  Json out = {{"jobs", Json::array()}, {"refused", Json::array()}};
  for (auto& [id, job] : jobs) out["jobs"].push_back(std::move(job));
  for (auto& [id, words] : refused) out["refused"].push_back(std::move(words));
  return out;
}

}  // namespace smartmig
