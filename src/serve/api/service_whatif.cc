// The living queue with something changed, run to its end beside the queue as it is: forked on the owner's thread,
// computed on the asking one. Nothing of the living one is touched.
#include <algorithm>

#include "base/json.h"
#include "model/speed.h"
#include "queue/answers/lanes_json.h"
#include "queue/jobs/job_json.h"
#include "serve/api/daemon_service.h"

namespace smartmig {
namespace {

struct WhatifQuestion {
  std::string policy, gpus;
  std::vector<std::uint64_t> remove;
  std::optional<double> cap_w;
  std::optional<EnergyPrices> prices;
  bool job = false, lanes = false;
};

Result<WhatifQuestion> whatif_question(const Json& body) {
  SMARTMIG_TRY(
      const JsonObject object,
      JsonObject::open(body, "whatif", "", {"policy", "add_gpus", "job", "remove", "power_cap_w", "prices", "lanes"}));
  WhatifQuestion out;
  SMARTMIG_TRY(out.policy, object.text("policy", ""));
  SMARTMIG_TRY(out.gpus, object.text("add_gpus", ""));
  SMARTMIG_TRY(out.lanes, object.yes_or_no("lanes", false));
  out.job = object.has("job");
  if (object.has("remove")) {
    SMARTMIG_TRY(out.remove, object.counts("remove"));
  }
  if (object.has("power_cap_w")) {
    SMARTMIG_TRY(out.cap_w, object.number("power_cap_w", 0, 1e9));
  }
  if (const Json* prices = object.find("prices")) {
    SMARTMIG_TRY(const JsonObject p,
                 JsonObject::open(*prices, "whatif", "prices", {"energy_per_kwh", "late_per_hour"}));
    EnergyPrices given;
    SMARTMIG_TRY(given.energy_per_kwh, p.number("energy_per_kwh", 0, 1e9, 0));
    SMARTMIG_TRY(given.late_per_hour, p.number("late_per_hour", 0, 1e9, 0));
    out.prices = given;
  }
  if (out.policy.empty() && out.gpus.empty() && !out.job && out.remove.empty() && !out.cap_w && !out.prices)
    return invalid("name a change: policy, add_gpus, job, remove, power_cap_w or prices");
  return out;
}

}  // namespace

Result<Service::Json> DaemonService::whatif(const Caller& caller, const Json& body) {
  SMARTMIG_TRY(const WhatifQuestion question, whatif_question(body));
  LiveFork live;
  PolicyMaker now_policy, then_policy;
  std::optional<Job> extra;
  JobRecord extra_record;
  ForkJob extra_rules;
  SMARTMIG_TRY(Ok forked, ask<Ok>([&](Daemon& d) -> Result<Ok> {
                 if (d.decisions().paused())
                   return busy_error("the queue is paused until smartmig resume, so its future is unknown");
                 DaemonState& state = d.state();
                 live = state.fork({QueueId(~std::uint64_t{0}), kNoId});
                 now_policy = d.policies().deciding();
                 then_policy = question.cap_w            ? d.policies().capped(question.policy, *question.cap_w)
                               : question.policy.empty() ? now_policy
                                                         : d.policies().other(question.policy);
                 if (!question.job) return Ok{};
                 SMARTMIG_TRY(JobSpec spec, read_job_spec(body["job"], d.now()));
                 SMARTMIG_RETURN_IF_ERROR(check_size(spec, state.session.platform()));
                 extra_record = d.jobs().as_record(caller, std::move(spec));
                 extra = job_in_fork(extra_record, state.session.belief(), state.settings.defaults.slack, live.shared);
                 JobRecord last = extra_record;
                 last.id = QueueId(kPhantoms - 1);
                 last.status.found(JobStatus::kHeld);
                 last.held_by = last.spec.hold ? HeldBy::kOwner : HeldBy::kNobody;
                 put_rules(live.fork, extra_rules, last, state.book,
                           {&state.groups, &state.reservations, &state.quotas}, live.origin);
                 return Ok{};
               }));
  (void)forked;
  if (question.prices) live.prices = question.prices;
  live.fork.decided = false;  // both futures begin with a decision, so that they differ by the change alone
  Fork changed = live.fork;
  std::vector<QueueId> then_ids = live.ids;
  for (const std::uint64_t id : question.remove) {
    const auto at = std::find(then_ids.begin(), then_ids.end(), QueueId(id));
    if (at == then_ids.end()) return not_found("remove: job {} is neither running nor waiting", id);
    changed.jobs.erase(changed.jobs.begin() + (at - then_ids.begin()));
    then_ids.erase(at);
  }
  if (!question.gpus.empty()) {
    SMARTMIG_TRY(changed, with_gpus(std::move(changed), question.gpus));
  }
  if (extra) {
    ForkFacts facts{kNever, extra_record.owner.uid, extra_record.spec.cpus, extra_record.spec.host_mem_mib,
                    asked_slices(extra_record, *live.fork.platform)};
    if (extra_record.spec.deadline) facts.declared = *extra_record.spec.deadline - live.origin;
    SMARTMIG_TRY(changed, with_job(std::move(changed), *extra,
                                   SpeedTable::builtin().has(extra_record.spec.kind) ? extra_record.spec.kind : "",
                                   "the new job", facts));
    ForkJob& added = changed.jobs.back();
    added.key = extra_rules.key;
    added.held = extra_rules.held;
    added.begin = extra_rules.begin;
    added.after = extra_rules.after;
    added.group = extra_rules.group;
    added.priority = extra_rules.priority;
  }
  if (changed.jobs.empty() && live.fork.jobs.empty())
    return busy_error("the queue is empty, so there is nothing to compare");
  MemoryJournal journal;
  const LookLimit limit(2 * kForFutures);
  SMARTMIG_TRY(const Outcome then, run_future(changed, then_policy, {}, question.lanes ? &journal : nullptr, limit));
  Json now_json;
  std::optional<Outcome> now;
  if (!live.fork.jobs.empty()) {
    SMARTMIG_TRY(now, run_future(live.fork, now_policy, {}, nullptr, limit));
    now_json = outcome_json(*now, live.origin, live.prices);
  }
  Json jobs = Json::array();
  for (std::size_t i = 0; i < then.jobs.size(); ++i) {
    const bool known = i < then_ids.size();
    const JobOutcome* before = nullptr;
    if (known && now)
      before = &now->jobs[std::size_t(std::find(live.ids.begin(), live.ids.end(), then_ids[i]) - live.ids.begin())];
    jobs.push_back({{"id", known ? Json(then_ids[i]) : Json()},
                    {"finish_now_at", before ? instant_json(before->finish, live.origin) : Json()},
                    {"finish_then_at", instant_json(then.jobs[i].finish, live.origin)},
                    {"start_then_at", instant_json(then.jobs[i].start, live.origin)},
                    {"late_now_s", before ? late_json(before->late_s) : Json()},
                    {"late_then_s", late_json(then.jobs[i].late_s)}});
  }
  Json out = {
      {"now", std::move(now_json)}, {"then", outcome_json(then, live.origin, live.prices)}, {"jobs", std::move(jobs)}};
  if (question.lanes) {
    put_lanes(out, changed, journal.events(), then_ids, live.origin);
    out["gpus"] = Json::array();
    for (std::size_t g = 0; g < changed.platform->gpus(); ++g)
      out["gpus"].push_back(changed.platform->model(GpuId(g)).gpu->name());
  }
  return out;
}

}  // namespace smartmig
