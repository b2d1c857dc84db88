#include "eval/futures.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/errors.h"
#include "base/rng.h"
#include "base/text.h"
#include "eval/future_arrivals.h"
#include "model/run_quantiles.h"
#include "policy/layers/start_shares.h"
#include "policy/planner/job_rest.h"
#include "sim/two_worlds.h"

namespace smartmig {
namespace {

// The quantile of a job's time in a future: the median, or a random quantile within the future's stratum, so that a few
// futures cover the whole range.
double case_of(const ForkJob& job, const std::optional<Noise>& noise) {
  if (!noise) return 0.5;
  const std::uint64_t name = hash_text(job.name, std::uint64_t(job.job.submit.count()));
  Rng rng(mix64(noise->seed, noise->future), name);
  const auto key = [&](std::uint64_t future) { return mix64(mix64(noise->seed, name), future); };
  const std::uint64_t of = std::max<std::uint64_t>(1, noise->of), mine = noise->future % of;
  std::uint64_t rank = 0;
  for (std::uint64_t other = 0; other < of; ++other) rank += key(other) < key(mine);
  return std::clamp((double(rank) + rng.uniform(0, 1)) / double(of), 1e-6, 1 - 1e-6);
}

Time scaled(Time work, double factor) {
  if (factor == 1 || work < Time{0}) return work;
  return rounded(std::min(double(work.count()) * factor, double(from_seconds(kMaxSeconds).count())));
}

Result<JobTable> table_of(const Fork& fork, std::vector<Job> jobs, std::shared_ptr<Workload> workload = {}) {
  if (!workload) workload = std::make_shared<Workload>();
  workload->source = "future";
  workload->reference_gpu = fork.reference_gpu;
  workload->kinds = fork.kinds;
  workload->jobs = std::move(jobs);
  for (const ForkJob& job : fork.jobs) workload->names.push_back(job.name);
  return JobTable::bind(std::move(workload), *fork.platform);
}

// The fleet as believed. `workload` holds its jobs afterwards.
Result<FoundFleet> found_fleet(const Fork& fork, const FutureArrivals& arrivals, std::shared_ptr<Workload> workload) {
  FoundFleet fleet{fork.platform, nullptr, fork.cost, fork.now, fork.layouts, fork.targets, {}};
  std::vector<Job> jobs;
  for (const ForkJob& job : fork.jobs) {
    jobs.push_back(job.job);
    const bool later = !arrivals.is_there(fleet.found.size());
    fleet.found.push_back({job.gpu, job.where, job.left, job.remaining, later});
  }
  SMARTMIG_TRY(JobTable table, table_of(fork, std::move(jobs), std::move(workload)));
  fleet.jobs = std::make_shared<const JobTable>(std::move(table));
  return fleet;
}

// The fleet in one future: each unknown time is drawn, conditional on exceeding what has run.
Result<FoundFleet> drawn_fleet(const Fork& fork, const FoundFleet& believed, const std::optional<Noise>& noise) {
  FoundFleet fleet = believed;
  std::vector<Job> jobs;
  for (std::size_t j = 0; j < fork.jobs.size(); ++j) {
    jobs.push_back(fork.jobs[j].job);
    FoundJob& found = fleet.found[j];
    const bool runs = found.gpu != kNoGpu;
    const Time whole = runs ? believed.jobs->work(JobId(j), fork.platform->type_of(found.gpu, found.where)) : Time{1};
    if (jobs.back().spread <= 0 || whole <= Time{0}) continue;
    const double share = runs ? double(found.left.count()) / double(whole.count()) : found.remaining;
    const double done = std::max(0.0, 1 - share),
                 left = left_of_run_at(jobs.back().spread, done, case_of(fork.jobs[j], noise));
    for (Time& work : jobs.back().work) work = scaled(work, done + left);
    found.left = scaled(whole, left);
    found.remaining = done > 0 ? left / (done + left) : 1;
  }
  SMARTMIG_TRY(JobTable table, table_of(fork, std::move(jobs)));
  fleet.jobs = std::make_shared<const JobTable>(std::move(table));
  return fleet;
}

Error never_ends(const Cluster& cluster, const std::string& policy, bool reshapes) {
  const JobId job = cluster.first_unfinished();
  const std::string name = cluster.jobs().workload().name_of(index(job));
  if (reshapes)
    return invalid(
        "policy {} keeps changing layouts while {} jobs wait, the first of them {}, so this "
        "future has no end",
        policy, cluster.unfinished(), name);
  return invalid(
      "policy {} never starts {} of the jobs, the first of them {}: no GPU in service has or "
      "gets a slice for it",
      policy, cluster.unfinished(), name);
}

// The live fleet's gate, for its futures.
class FutureGate {
 public:
  explicit FutureGate(const Fork& fork)
      : fork_(fork),
        limits_{fork.host.cpus, fork.host.mem_mib, fork.host.user_slices, fork.platform->total_compute_slices(),
                fork.host.caps} {}

  void count(const Cluster& cluster, const Plan& plan) {
    taken_.clear();
    for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
      const JobState& state = cluster.state(job);
      if (state.phase != JobPhase::kRunning || std::count(plan.stops.begin(), plan.stops.end(), job) > 0) continue;
      taken_.add(limits_, asked(cluster, {job, state.gpu, state.where}));
    }
  }

  StartObjection check(const Cluster& cluster, const Start& start) {
    return taken_.check(limits_, asked(cluster, start));
  }

 private:
  ShareAsked asked(const Cluster& cluster, const Start& start) const {
    const ForkJob& job = fork_.jobs[index(start.job)];
    const Platform::Model& model = cluster.platform().model(start.gpu);
    const int slices = model.slices_of_placement[index(start.where)];
    return {job.user,
            job.asked_slices > 0 ? std::min(job.asked_slices, slices) : slices,
            model.room_of(start.where),
            job.cpus,
            job.host_mem_mib,
            job.caps};
  }

  const Fork& fork_;
  const ShareLimits limits_;
  StartShares taken_;
};

// What happens is one more draw: it falls below the k-th of n with probability k / (n + 1).
Time at_rank(const std::vector<Time>& sorted, double share) {
  const double rank = std::clamp(share * double(sorted.size() + 1) - 1, 0.0, double(sorted.size() - 1));
  const std::size_t below = std::size_t(rank), above = std::min(below + 1, sorted.size() - 1);
  if (sorted[below] == kNever || sorted[above] == kNever) return sorted[below];
  return sorted[below] + rounded((rank - double(below)) * double((sorted[above] - sorted[below]).count()));
}
Spread spread_of(std::vector<Time> times) {
  std::sort(times.begin(), times.end());
  return {at_rank(times, 0.1), at_rank(times, 0.5), at_rank(times, 0.9)};
}

}  // namespace

Fork fork(const Cluster& cluster, const std::function<ForkFacts(JobId)>& facts) {
  const Workload& workload = cluster.jobs().workload();
  Fork out{std::make_shared<const Platform>(cluster.platform()),
           cluster.cost(),
           cluster.now(),
           workload.reference_gpu,
           workload.kinds,
           {},
           {},
           {},
           {}};
  for (const GpuState& gpu : cluster.gpus()) {
    out.layouts.push_back(gpu.layout);
    out.targets.push_back(gpu.target);
    out.blocked.push_back(gpu.blocked);
  }
  for (JobId id = cluster.first_unfinished(); id != kNoJob; id = cluster.next_unfinished(id)) {
    const JobState& state = cluster.state(id);
    ForkJob job{id, cluster.jobs().job(id), workload.name_of(index(id))};
    const ForkFacts known = facts ? facts(id) : ForkFacts{job.job.deadline};
    job.declared = known.declared;
    job.user = known.user;
    job.cpus = known.cpus;
    job.host_mem_mib = known.host_mem_mib;
    job.asked_slices = known.asked_slices;
    job.started = state.first_start;
    if (state.phase == JobPhase::kRunning) {
      job.gpu = state.gpu;
      job.where = state.where;
      job.left = std::max(Time{0}, cluster.time_to_finish(id));
      const double over = job.job.spread > 0 ? share_done(cluster, id) - 1 : -1;
      if (over >= 0) job.left = std::min(Time{-1}, -scaled(cluster.jobs().work(id, state.type), over));
    } else if (state.type != kNoType) {
      const Time whole = cluster.jobs().work(id, state.type);
      job.remaining =
          whole > Time{0} ? std::clamp(double(state.remaining.count()) / double(whole.count()), 0.0, 1.0) : 1;
    }
    out.jobs.push_back(std::move(job));
  }
  std::stable_sort(out.jobs.begin(), out.jobs.end(),
                   [](const ForkJob& a, const ForkJob& b) { return a.job.submit < b.job.submit; });
  return out;
}

Result<Fork> with_job(Fork fork, const Job& job, const std::string& kind, std::string name, ForkFacts facts) {
  ForkJob added{kNoJob, job, std::move(name), facts.declared};
  added.user = facts.user;
  added.cpus = facts.cpus;
  added.host_mem_mib = facts.host_mem_mib;
  added.asked_slices = facts.asked_slices;
  added.job.submit = std::max(fork.now, fork.jobs.empty() ? Time{0} : fork.jobs.back().job.submit);
  added.job.kind = -1;
  if (!kind.empty()) {
    const auto at = std::find(fork.kinds.begin(), fork.kinds.end(), kind);
    added.job.kind = int(at - fork.kinds.begin());
    if (at == fork.kinds.end()) fork.kinds.push_back(kind);
  }
  fork.jobs.push_back(std::move(added));
  std::vector<Job> jobs;
  for (const ForkJob& j : fork.jobs) jobs.push_back(j.job);
  SMARTMIG_TRY(const JobTable table, table_of(fork, std::move(jobs)));
  return fork;
}

namespace {

// "2xa100-40gb,1xa30-24gb" names 3. Unreadable parts count as none.
std::size_t gpus_named(std::string_view spec) {
  std::size_t sum = 0;
  for (const std::string_view part : split(spec, ','))
    if (const auto count = parse_int(trim(part).substr(0, trim(part).find('x'))); count && *count > 0)
      sum += std::size_t(std::min<std::int64_t>(*count, INT32_MAX));
  return sum;
}

}  // namespace

Result<Fork> with_gpus(Fork fork, std::string_view more) {
  if (const std::size_t all = fork.platform->gpus() + gpus_named(more);
      all > kMostForkGpus && all > fork.platform->gpus())
    return invalid("'{}' makes a fleet of {} GPUs, but the limit for simulated futures is {}", more, all,
                   kMostForkGpus);
  SMARTMIG_TRY(Platform larger,
               Platform::parse(fmt::format("{},{}", fork.platform->spec(), more), fork.platform->power_spec()));
  if (fork.platform->gpus() >= larger.gpus()) return invalid("'{}' adds no GPU", more);
  fork.platform = std::make_shared<const Platform>(std::move(larger));
  for (std::size_t g = fork.layouts.size(); g < fork.platform->gpus(); ++g) {
    const GpuModel& model = *fork.platform->model(GpuId(g)).gpu;
    Layout whole;
    for (std::size_t p = 0; p < model.placements().size(); ++p)
      if (model.profile_of(PlacementId(p)).variant == Variant::kPlain &&
          model.profile_of(PlacementId(p)).compute_slices == model.compute_slices())
        whole = *model.with(Layout{}, PlacementId(p));
    fork.layouts.push_back(whole);
    fork.targets.push_back(whole);
    fork.blocked.push_back(false);
  }
  return fork;
}

PolicyMaker maker_of(PolicySpec spec) {
  spec.guarding = Guarding::kUnguarded;
  return [spec = std::move(spec)](std::shared_ptr<const Platform> platform) -> Result<NamedPolicy> {
    SMARTMIG_TRY(PolicyStack stack, PolicyStack::make(spec, std::move(platform)));
    return NamedPolicy(std::move(stack));
  };
}

namespace {

constexpr std::uint64_t kLooksAtClock = 16;  // events between two looks

// For the session, a job that arrives with progress has its believed remainder.
class FutureWorld : public TwoWorlds {
 public:
  FutureWorld(Cluster truth, Journal* journal, std::unique_ptr<Fleet> world, const FoundFleet& found)
      : TwoWorlds(std::move(truth), journal, std::move(world)), found_(found) {}

 private:
  Event believed(const Event& event) const override {
    return event.kind == EventKind::kFoundWaiting ? found_with_progress(found_, event.job, event.at) : event;
  }
  const FoundFleet& found_;
};

}  // namespace

Result<Outcome> run_future(const Fork& fork, const PolicyMaker& maker, std::optional<Noise> noise, Journal* journal,
                           const LookLimit& limit) {
  SMARTMIG_TRY(NamedPolicy policy, maker(fork.platform));
  Outcome out{policy.name, 0, 0, 0, 0, fork.now, {}};
  if (fork.jobs.empty()) return out;
  FutureArrivals arrivals(fork);
  const auto beliefs = std::make_shared<Workload>();
  SMARTMIG_TRY(const FoundFleet believed, found_fleet(fork, arrivals, beliefs));
  SMARTMIG_TRY(const FoundFleet drawn, drawn_fleet(fork, believed, noise));
  Cluster cluster = cluster_of(believed), truth = cluster_of(drawn);
  for (std::size_t g = 0; g < fork.blocked.size(); ++g)
    for (Cluster* one : {&cluster, &truth})
      if (fork.blocked[g]) one->apply(Event::blocked(fork.now, GpuId(g)));
  const std::uint64_t most_events = 10'000 + 200 * fork.jobs.size();

  auto simulated = std::make_unique<FutureFleet>(drawn, truth, arrivals);
  const FutureFleet& future = *simulated;
  FutureWorld fleet(std::move(truth), journal, std::move(simulated), believed);
  fleet.expect_running(cluster);
  Session session(fleet, std::move(cluster));
  FutureGate gate(fork);
  StartFilter gated(std::move(policy.policy),
                    {[&](const Plan& next) { gate.count(session.cluster(), next); },
                     [&](const Cluster& now, const Start& start) { return gate.check(now, start); }});
  const auto deadlines = fork.deadlines ? fork.deadlines() : nullptr;
  DecisionLoop loop(
      session,
      [&](const Cluster& now, Plan& plan) {
        if (deadlines) deadlines->present(now, now.now(), beliefs->jobs);
        gated.decide(now, plan);
      },
      [&] {
        if (!deadlines) return;
        for (const Start& start : loop.plan().starts) deadlines->started(index(start.job), session.cluster().now());
      });
  if (fork.decided && !arrivals.brings_news()) {
    loop.ask_at(fork.look_again);
    loop.advance();  // if nothing is under way, it decides now after all
  }
  loop.decide();
  for (std::uint64_t events = 0; loop.step(); ++events) {
    if (events > most_events) return never_ends(session.cluster(), policy.name, true);
    if (events % kLooksAtClock == 0 && limit.over())
      return timeout_error("this queue is too long to look ahead in time: ask again later");
  }
  const Cluster& end = fleet.truth();
  if (end.unfinished() > 0) return never_ends(end, policy.name, false);

  out.energy_j = end.total_joules();
  std::size_t counted = 0;
  for (std::size_t j = 0; j < fork.jobs.size(); ++j) {
    const ForkJob& job = fork.jobs[j];
    const JobState& state = end.state(JobId(j));
    JobOutcome one{job.live, future.first_start(j), state.finish, {}, arrivals.no_start(j)};
    if (job.gpu != kNoGpu) one.start = job.started >= Time{0} ? job.started : state.first_start;
    if (one.no_start != NoStart::kStarts) {
      one.start = one.finish = kNever;
      out.jobs.push_back(one);
      continue;
    }
    if (job.declared != kNever) {
      one.late_s = std::max(0.0, seconds(one.finish - job.declared));
      out.late_s += *one.late_s;
      out.late_jobs += *one.late_s > 0;
      ++counted;
    }
    out.last_finish = std::max(out.last_finish, one.finish);
    out.jobs.push_back(one);
  }
  out.mean_late_s = counted > 0 ? out.late_s / double(counted) : 0;
  return out;
}

Result<Etas> eta(const Fork& fork, const PolicyMaker& policy, int futures, std::uint64_t seed, LookLimit limit,
                 Journal* journal, Outcome* figures) {
  SMARTMIG_CHECK(futures >= 0, "{} futures", futures);
  std::vector<std::vector<Time>> starts(fork.jobs.size()), finishes(fork.jobs.size());
  std::vector<int> on_time(fork.jobs.size(), 0);
  SMARTMIG_TRY(Outcome expected, run_future(fork, policy, {}, journal, limit.twice()));
  const auto count = [&](const Outcome& outcome) {
    for (std::size_t j = 0; j < outcome.jobs.size(); ++j) {
      starts[j].push_back(outcome.jobs[j].start);
      finishes[j].push_back(outcome.jobs[j].finish);
      on_time[j] += outcome.jobs[j].late_s && *outcome.jobs[j].late_s <= 0;
    }
  };
  Etas out;
  for (int f = 0; f < futures; ++f) {
    const auto outcome =
        run_future(fork, policy, Noise{seed, std::uint64_t(f), std::uint64_t(futures)}, nullptr, limit);
    if (!outcome && limit.over()) break;
    if (!outcome) return outcome.error();
    count(*outcome);
    ++out.futures;
  }
  if (out.futures == 0) count(expected);
  for (std::size_t j = 0; j < fork.jobs.size(); ++j) {
    const JobOutcome& one = expected.jobs[j];
    out.jobs.push_back({fork.jobs[j].live,
                        one.start,
                        one.finish,
                        spread_of(std::move(starts[j])),
                        spread_of(std::move(finishes[j])),
                        fork.jobs[j].declared,
                        {},
                        one.no_start});
    if (one.late_s) out.jobs.back().on_time_ratio = double(on_time[j]) / std::max(1, out.futures);
  }
  if (figures) *figures = std::move(expected);
  return out;
}

}  // namespace smartmig
