// Questions about the future: forked on the owner's thread, computed on the asking one.
#include <algorithm>

#include "base/json.h"
#include "model/speed.h"
#include "serve/daemon/daemon_service.h"
#include "serve/daemon/job_json.h"
#include "serve/daemon/live_fork.h"
#include "serve/daemon/why_now.h"

namespace smartmig {
namespace {

constexpr int kFutures = 20;

LiveFork fork_of(Daemon& daemon, QueueId up_to) {
  DaemonState& state = daemon.state();
  return fork_of(state.session, state.book, state.estimates, state.settings, up_to);
}

// A time would be a guess at when somebody resumes it.
Error is_paused(const std::string& what) {
  return busy_error("the queue is paused: nothing is started until smartmig resume, so {} is not known", what);
}

Json to_json(const Outcome& outcome, const LiveFork& live) {
  return {{"policy", outcome.policy},
          {"energy_j", outcome.energy_j},
          {"late_s", outcome.late_s},
          {"mean_late_s", outcome.mean_late_s},
          {"last_finish_at", unix_seconds(outcome.last_finish + live.origin)},
          {"jobs", outcome.jobs.size()},
          {"cost", live.prices ? Json(outcome.cost(*live.prices)) : Json()}};
}

Json to_json(const Spread& spread, UnixTime origin) {
  return {{"p10", unix_seconds(spread.p10 + origin)},
          {"p50", unix_seconds(spread.p50 + origin)},
          {"p90", unix_seconds(spread.p90 + origin)}};
}

}  // namespace

Result<Service::Json> DaemonService::eta(const Caller&, std::uint64_t id) {
  SMARTMIG_TRY(const JobRecord found, record(id));
  if (is_final(found.status)) return busy_error("job {} has ended already: {}", id, name_of(found.status));
  LiveFork live;
  PolicyMaker policy;
  SMARTMIG_TRY(Ok forked, ask<Ok>([&](Daemon& d) -> Result<Ok> {
                 if (d.decisions().paused() && is_waiting(found.status))
                   return is_paused(fmt::format("when job {} starts", id));
                 live = fork_of(d, QueueId(id));
                 policy = d.policies().deciding();
                 return Ok{};
               }));
  (void)forked;
  const auto at = std::find(live.ids.begin(), live.ids.end(), QueueId(id));
  if (at == live.ids.end()) return busy_error("job {} has too many before it to look ahead; ask again later", id);
  SMARTMIG_TRY(const auto etas, smartmig::eta(live.fork, policy, kFutures, 1));
  const Eta& mine = etas[std::size_t(at - live.ids.begin())];
  Json out = {{"job", id},
              {"futures", kFutures},
              {"expected_start_at", unix_seconds(mine.expected_start + live.origin)},
              {"expected_finish_at", unix_seconds(mine.expected_finish + live.origin)},
              {"start_at", to_json(mine.start, live.origin)},
              {"finish_at", to_json(mine.finish, live.origin)},
              {"deadline_at", found.spec.deadline ? Json(unix_seconds(*found.spec.deadline)) : Json()},
              {"on_time_ratio", mine.on_time_ratio}};
  return out;
}

Result<Service::Json> DaemonService::whatif(const Caller& caller, const Json& body) {
  SMARTMIG_TRY(const JsonObject object, JsonObject::open(body, "whatif", "", {"policy", "add_gpus", "job"}));
  SMARTMIG_TRY(const std::string policy_name, object.text("policy", ""));
  SMARTMIG_TRY(const std::string gpus, object.text("add_gpus", ""));
  if (policy_name.empty() && gpus.empty() && !object.has("job"))
    return invalid("say what to change: policy, add_gpus or job");
  LiveFork live;
  PolicyMaker now_policy, then_policy;
  std::optional<Job> extra;
  JobRecord extra_record;
  SMARTMIG_TRY(Ok forked, ask<Ok>([&](Daemon& d) -> Result<Ok> {
                 if (d.decisions().paused()) return is_paused("how it goes on");
                 live = fork_of(d, QueueId(~std::uint64_t{0}));
                 now_policy = d.policies().deciding();
                 then_policy = policy_name.empty() ? now_policy : d.policies().other(policy_name);
                 if (object.has("job")) {
                   SMARTMIG_TRY(JobSpec spec, parse_job_spec(json_dump(body["job"]), d.now()));
                   extra_record = d.jobs().as_record(caller, std::move(spec));
                   extra = job_in_fork(extra_record, d.state().session.belief(), d.state().settings.defaults.slack,
                                       live.shared);
                 }
                 return Ok{};
               }));
  (void)forked;
  live.fork.decided = false;  // both futures begin with a decision, so that they differ by the change alone
  Fork changed = live.fork;
  if (!gpus.empty()) {
    SMARTMIG_TRY(changed, with_gpus(std::move(changed), gpus));
  }
  if (extra) {
    ForkFacts facts{kNever, ForkFacts().sigma, extra_record.owner.uid, extra_record.spec.cpus,
                    extra_record.spec.host_mem_mib};
    if (extra_record.spec.deadline) facts.declared = *extra_record.spec.deadline - live.origin;
    SMARTMIG_TRY(changed, with_job(std::move(changed), *extra,
                                   SpeedTable::builtin().has(extra_record.spec.kind) ? extra_record.spec.kind : "",
                                   "the new job", facts));
  }
  if (changed.jobs.empty()) return busy_error("the queue is empty: there is no future to compare");
  SMARTMIG_TRY(const Outcome then, run_future(changed, then_policy));
  Json jobs = Json::array();
  Json now_json;
  std::optional<Outcome> now;
  if (!live.fork.jobs.empty()) {
    SMARTMIG_TRY(now, run_future(live.fork, now_policy));
    now_json = to_json(*now, live);
  }
  for (std::size_t i = 0; i < then.jobs.size(); ++i) {
    const bool known = i < live.ids.size();
    Json one = {{"id", known ? Json(live.ids[i]) : Json()},
                {"finish_now_at", known && now ? Json(unix_seconds(now->jobs[i].finish + live.origin)) : Json()},
                {"finish_then_at", unix_seconds(then.jobs[i].finish + live.origin)},
                {"start_then_at", unix_seconds(then.jobs[i].start + live.origin)},
                {"late_now_s", known && now ? Json(now->jobs[i].late_s) : Json()},
                {"late_then_s", then.jobs[i].late_s}};
    jobs.push_back(std::move(one));
  }
  return Json{{"now", std::move(now_json)}, {"then", to_json(then, live)}, {"jobs", std::move(jobs)}};
}

Result<Service::Json> DaemonService::why(const Caller&, std::uint64_t id) {
  SMARTMIG_TRY(const JobRecord found, record(id));
  if (is_final(found.status)) {
    Why why{"ended",
            fmt::format("job {} has ended: {}{}{}", id, name_of(found.status), found.reason.empty() ? "" : ", ",
                        found.reason),
            {},
            {}};
    return smartmig::to_json(id, why);
  }
  LiveFork live;
  PolicyMaker policy;
  SMARTMIG_TRY(Why why, ask<Why>([&](Daemon& d) -> Result<Why> {
                 live = fork_of(d, QueueId(id));
                 policy = d.policies().deciding();
                 return why_now(d, QueueId(id));
               }));
  const auto at = std::find(live.ids.begin(), live.ids.end(), QueueId(id));
  if (at != live.ids.end() && why.code != "running" && why.code != "queue_paused") {
    // Alternatives are found by the row in the cluster; one that is not visible gets a number of its own.
    const std::size_t i = std::size_t(at - live.ids.begin());
    if (live.fork.jobs[i].live == kNoJob) live.fork.jobs[i].live = JobId(0xFFFFFFFE);
    why.alternatives = priced_alternatives(live.fork, live.fork.jobs[i].live, policy, live.prices, live.origin);
  }
  return smartmig::to_json(id, why);
}

}  // namespace smartmig
