// Cancel and requeue of many jobs: one question to the owner, one transaction, however many there are.
#include <algorithm>
#include <set>

#include "base/json.h"
#include "serve/daemon/daemon_service.h"
#include "serve/daemon/job_json.h"
#include "serve/daemon/service_rules.h"
#include "serve/http/http_types.h"

namespace smartmig {
namespace {

// Which jobs a body names.
struct JobChoice {
  std::vector<std::uint64_t> ids;
  std::uint64_t array = 0;
  bool all = false;  // the caller's active ones
};

Result<JobChoice> read_choice(const Json& body) {
  SMARTMIG_TRY(const JsonObject object, JsonObject::open(body, "the body", "", {"ids", "array", "all"}));
  JobChoice choice;
  if (object.has("ids")) {
    SMARTMIG_TRY(choice.ids, object.counts("ids"));
  }
  SMARTMIG_TRY(const std::int64_t array, object.integer("array", 1, INT64_MAX, 0));
  choice.array = std::uint64_t(array);
  SMARTMIG_TRY(choice.all, object.yes_or_no("all", false));
  if (choice.ids.empty() && choice.array == 0 && !choice.all)
    return invalid("which jobs? {{\"ids\":[7, 8]}}, {{\"array\":7}} or {{\"all\":true}}");
  return choice;
}

// The highest number first: who depends on another of them is cancelled before that one, and so by request.
std::set<QueueId, std::greater<>> chosen_of(const JobChoice& choice, const Caller& caller, const Daemon& daemon) {
  std::set<QueueId, std::greater<>> out;
  for (const std::uint64_t id : choice.ids) out.insert(QueueId(id));
  if (choice.array == 0 && !choice.all) return out;
  for (const auto& [id, job] : daemon.live_jobs())
    if ((choice.all && job.owner.uid == caller.uid) || (choice.array > 0 && number(job.array.id) == choice.array))
      out.insert(id);
  return out;
}

// The job as it stands, live or ended.
Result<JobRecord> record_now(const Daemon& daemon, QueueId id) {
  const JobBook& book = daemon.state().book;
  if (const JobRecord* live = book.find(id)) return *live;
  SMARTMIG_TRY(const auto row, book.stored(id));
  if (!row) return not_found("there is no job {}", id);
  return from_row(*row);
}

using Change = std::function<Result<JobRecord>(Daemon&, const JobRecord&)>;  // gives it as it is then

Json change_all(Daemon& daemon, const Caller& caller, const JobChoice& choice, const Change& change) {
  std::vector<Json> jobs, refused;
  for (const QueueId id : chosen_of(choice, caller, daemon)) {
    Result<JobRecord> job = record_now(daemon, id);
    if (job && !may_touch(caller, *job)) job = not_yours(number(id));
    if (job) job = change(daemon, *job);
    if (job)
      jobs.push_back(shown_to(caller, daemon, *job));
    else
      refused.push_back({{"id", number(id)}, {"code", code_name(job.error().code)}, {"message", job.error().what}});
  }
  std::reverse(jobs.begin(), jobs.end());
  std::reverse(refused.begin(), refused.end());
  return {{"jobs", std::move(jobs)}, {"refused", std::move(refused)}};
}

}  // namespace

Result<Json> DaemonService::cancel_jobs(const Caller& caller, const Json& body) {
  SMARTMIG_TRY(const JobChoice choice, read_choice(body));
  const Change cancel = [&caller](Daemon& d, const JobRecord& job) -> Result<JobRecord> {
    if (is_final(job.status)) return busy_error("job {} has ended already: {}", job.id, name_of(job.status));
    JobRecord cancelled = job;
    cancelled.status = JobStatus::kCancelled;
    cancelled.reason = cancelled_by(caller, job);
    cancelled.times.ended = d.now();
    SMARTMIG_RETURN_IF_ERROR(d.jobs().cancel(job.id, cancelled.reason));
    const JobRecord* stopping = d.state().book.find(job.id);
    return stopping ? *stopping : cancelled;
  };
  return ask<Json>([&](Daemon& d) -> Result<Json> { return change_all(d, caller, choice, cancel); }, true);
}

Result<Json> DaemonService::requeue_jobs(const Caller& caller, const Json& body) {
  SMARTMIG_TRY(const JobChoice choice, read_choice(body));
  const Change requeue = [&caller](Daemon& d, const JobRecord& job) -> Result<JobRecord> {
    SMARTMIG_RETURN_IF_ERROR(d.jobs().requeue(job.id, caller.operator_rights));
    return record_now(d, job.id);
  };
  return ask<Json>([&](Daemon& d) -> Result<Json> { return change_all(d, caller, choice, requeue); }, true);
}

}  // namespace smartmig
