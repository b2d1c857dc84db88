// What comes next: forks of the living fleet for eta, whatif and why.
#include <algorithm>

#include "base/json.h"
#include "model/speed.h"
#include "serve/daemon/daemon_service.h"
#include "serve/daemon/job_json.h"
#include "serve/daemon/why.h"

namespace smartmig {
namespace {

constexpr int kFutures = 20;
constexpr std::size_t kMostInvisible = 2000;

Json to_json(const Outcome& outcome, const LiveFork& live) {
  return {{"policy", outcome.policy},
          {"energy_j", outcome.energy_j},
          {"late_s", outcome.late_s},
          {"mean_late_s", outcome.mean_late_s},
          {"last_finish_at", unix_seconds(outcome.last_finish + live.origin)},
          {"jobs", outcome.jobs.size()},
          {"cost", live.prices ? Json(outcome.cost(*live.prices)) : Json()}};
}

Json to_json(const Spread& spread, Time origin) {
  return {{"p10", unix_seconds(spread.p10 + origin)},
          {"p50", unix_seconds(spread.p50 + origin)},
          {"p90", unix_seconds(spread.p90 + origin)}};
}

}  // namespace

// The fleet as it is, with the jobs that the policy sees and as many of the others as come before `id`.
LiveFork Daemon::fork_now(std::uint64_t id) {
  LiveFork out;
  out.origin = belief_->origin();
  out.prices = settings_.priced();
  const auto facts_of = [&](const JobRecord& job) {
    ForkFacts facts;
    facts.declared = job.spec.deadline ? belief_->inside(*job.spec.deadline) : kNever;
    facts.sigma = job.estimate_source == EstimateSource::kGuess
                      ? 1.0
                      : history_.forecast(signature_of(job.spec.command, job.spec.script)).sigma;
    return facts;
  };
  out.fork = fork(cluster(), [&](JobId row) {
    const JobRecord* job = find(belief_->record(row));
    return job ? facts_of(*job) : ForkFacts();
  });
  for (const ForkJob& job : out.fork.jobs) out.ids.push_back(belief_->record(job.live));
  // What a dead process holds is not to set the end of a future: it lasts as long as the longest of the others.
  if (!phantoms_.empty()) {
    Time longest{0};
    const auto nobody = [&](const ForkJob& job) { return find(belief_->record(job.live)) == nullptr; };
    for (const ForkJob& job : out.fork.jobs)
      if (!nobody(job))
        longest = std::max(longest,
                           job.gpu != kNoGpu ? job.left : *std::max_element(job.job.work.begin(), job.job.work.end()));
    for (ForkJob& job : out.fork.jobs)
      if (nobody(job)) job.left = std::min(job.left, longest);
  }
  std::size_t invisible = 0;
  for (const auto& [other, job] : jobs_) {
    if (other > id || invisible == kMostInvisible) break;
    if (job.status != JobStatus::kQueued && job.status != JobStatus::kHeld) continue;
    if (belief_->row(other) != kNoJob) continue;
    if (job.status == JobStatus::kHeld && other != id) continue;
    const ForkFacts facts = facts_of(job);
    ForkJob one;
    one.job = belief_->job_of(job, job.spec.deadline.value_or(job.submitted + rounded(settings_.defaults.slack *
                                                                                      double(job.estimate.count()))));
    one.name = label(job);
    one.declared = facts.declared;
    one.sigma = facts.sigma;
    one.job.kind = -1;
    if (SpeedTable::builtin().has(job.spec.kind)) {
      auto& kinds = out.fork.kinds;
      const auto at = std::find(kinds.begin(), kinds.end(), job.spec.kind);
      one.job.kind = int(at - kinds.begin());
      if (at == kinds.end()) kinds.push_back(job.spec.kind);
    }
    out.fork.jobs.push_back(std::move(one));
    out.ids.push_back(other);
    ++invisible;
  }
  if (invisible > 0) {  // in order of submit, as a fork has them
    std::vector<std::size_t> order(out.ids.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return out.fork.jobs[a].job.submit < out.fork.jobs[b].job.submit;
    });
    std::vector<ForkJob> jobs;
    std::vector<std::uint64_t> ids;
    for (const std::size_t i : order) {
      jobs.push_back(out.fork.jobs[i]);
      ids.push_back(out.ids[i]);
    }
    out.fork.jobs = std::move(jobs);
    out.ids = std::move(ids);
  }
  return out;
}

Result<Service::Json> DaemonService::eta(const Caller&, std::uint64_t id) {
  SMARTMIG_TRY(const JobRecord found, record(id));
  if (is_final(found.status)) return busy_error("job {} has ended already: {}", id, name_of(found.status));
  LiveFork live;
  PolicyMaker policy;
  SMARTMIG_TRY(Ok forked, ask<Ok>([&](Daemon& d) -> Result<Ok> {
                 live = d.fork_now(id);
                 policy = d.policies().maker(d.policies().plain_name());
                 return Ok{};
               }));
  (void)forked;
  const auto at = std::find(live.ids.begin(), live.ids.end(), id);
  if (at == live.ids.end()) return busy_error("job {} has too many before it to look ahead; ask again later", id);
  SMARTMIG_TRY(const auto etas, smartmig::eta(live.fork, policy, kFutures, 1));
  const Eta& mine = etas[std::size_t(at - live.ids.begin())];
  Json out = {{"job", id},
              {"futures", kFutures},
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
                 live = d.fork_now(~std::uint64_t(0));
                 now_policy = d.policies().maker(d.policies().plain_name());
                 then_policy = policy_name.empty() ? now_policy : d.policies().maker(policy_name);
                 if (object.has("job")) {
                   SMARTMIG_TRY(JobSpec spec, parse_job_spec(body["job"].dump(), d.now()));
                   extra_record = d.as_record(caller, std::move(spec));
                   extra = d.belief().job_of(extra_record,
                                             extra_record.spec.deadline.value_or(d.now() + extra_record.estimate));
                 }
                 return Ok{};
               }));
  (void)forked;
  Fork changed = live.fork;
  if (!gpus.empty()) {
    SMARTMIG_TRY(changed, with_gpus(std::move(changed), gpus));
  }
  if (extra) {
    ForkFacts facts;
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
                 live = d.fork_now(id);
                 policy = d.policies().maker(d.policies().plain_name());
                 return d.why_now(id);
               }));
  const auto at = std::find(live.ids.begin(), live.ids.end(), id);
  if (at != live.ids.end() && why.code != "running") {
    // Alternatives are found by the row in the cluster; one that is not visible gets a number of its own.
    const std::size_t i = std::size_t(at - live.ids.begin());
    if (live.fork.jobs[i].live == kNoJob) live.fork.jobs[i].live = JobId(0xFFFFFFFE);
    why.alternatives = priced_alternatives(live.fork, live.fork.jobs[i].live, policy, live.prices);
    for (Alternative& alternative : why.alternatives) {
      alternative.start += live.origin;
      alternative.finish += live.origin;
    }
  }
  return smartmig::to_json(id, why);
}

Result<Why> Daemon::why_now(std::uint64_t id) {
  const JobRecord* job = find(id);
  if (!job) return not_found("job {} has just ended", id);
  if (job->status == JobStatus::kRunning || job->status == JobStatus::kStarting || job->status == JobStatus::kStopping)
    return Why{
        "running", fmt::format("job {} is {} on {} of GPU {}", id, name_of(job->status), job->slice, job->gpu), {}, {}};
  count_running();
  WhyInput in;
  in.cluster = &cluster();
  in.job = belief_->row(id);
  in.name = fmt::format("job {}", label(*job));
  in.mem_mib = job->mem_mib;
  in.min_slices = job->spec.min_slices;
  in.disk = disk_trouble_;
  in.paused = paused_;
  if (job->status == JobStatus::kHeld) in.dependency = job->reason;
  if (job->array_id && job->spec.array_limit > 0) {
    int running = 0;
    for (const auto& [slice, other] : occupied_)
      if (const JobRecord* task = find(other); task && task->array_id == job->array_id) ++running;
    if (running >= job->spec.array_limit)
      in.array_limit =
          fmt::format("{} tasks of array {} run, at most {} may", running, job->array_id, job->spec.array_limit);
  }
  in.user_running = user_slices_[job->uid];
  in.user_slices_cap = settings_.limits.user_slices;
  const std::string objection = in.job == kNoJob ? "" : policies_->filter().objection(in.job);
  in.user_slices_full = objection.starts_with("user_slices_cap") ||
                        (settings_.limits.user_slices > 0 && in.user_running >= settings_.limits.user_slices);
  host_share(*job, std::max(1, job->spec.min_slices), in.cpus, in.host_mem_mib);
  // What goes in proportion to the slice never stands in its way.
  if (job->spec.cpus > 0) in.free_cpus = settings_.host.cpus - plan_cpus_;
  if (job->spec.host_mem_mib > 0) in.free_host_mem_mib = int(settings_.host.mem_mib - plan_mem_mib_);
  in.board_cap_w = settings_.power.board_cap_w;
  in.fleet_cap_w = settings_.power.fleet_cap_w;
  for (const GpuState& gpu : cluster().gpus()) in.fleet_w += gpu.watts;
  in.power_held = in.job != kNoJob && policies_->power_cap().held_back(in.job);
  in.power_never = in.job != kNoJob && policies_->power_cap().never_fits(cluster(), in.job);
  in.overtaking = &policies_->overtaking();
  in.policy = policies_->name();
  for (std::size_t g = 0; g < gpus_.size(); ++g)
    for (const auto& [where, words] : gpus_[g].quarantined) in.quarantined[{g, where}] = words;
  return why_waiting(in);
}

JobRecord Daemon::as_record(const Caller& caller, JobSpec spec) {
  JobRecord job;
  job.uid = caller.uid;
  job.gid = caller.gid;
  job.user = user_name(caller.uid);
  job.submitted = now();
  job.mem_mib = spec.mem_mib.value_or(-1);
  job.spec = std::move(spec);
  if (const auto at = settings_.limits.priorities.find(job.user); at != settings_.limits.priorities.end())
    job.spec.priority += at->second;
  if (!job.spec.grace) job.spec.grace = settings_.defaults.grace;
  estimate(job);
  return job;
}

// What the shadow would have started instead.
void Daemon::watch() {
  const Plan* other = advice_->shadow_differs(cluster(), plan_);
  counts_.shadow_differences = advice_->differences();
  if (!other) return;
  Json would = Json::array();
  for (const Start& s : other->starts)
    would.push_back(fmt::format("{} on {}:{}", belief_->record(s.job), index(s.gpu),
                                slice_name(*platform_->model(s.gpu).gpu, s.where)));
  journal_->note(cluster().now(), "shadow",
                 fmt::format("\"policy\":{},\"would_start\":{}", Json(settings_.policy.shadow).dump(), would.dump()));
}

void Daemon::consult() {
  const auto notes = advice_->consult(
      now(), cluster().unfinished() > 0, [this] { return fork_now(0).fork; }, belief_->origin());
  for (const PolicyAdvice::Note& note : notes) journal_->note(belief_->inside(now()), note.kind, note.fields);
}

}  // namespace smartmig
