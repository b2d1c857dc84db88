#include "eval/shadow_judge.h"

#include <algorithm>

#include "sched/session.h"
#include "sim/sim_fleet.h"

namespace smartmig {
namespace {

Time least_left(const Cluster& cluster, JobId job) {
  Time least = kNever;
  for (std::size_t t = 0; t < cluster.platform().types().size(); ++t)
    if (const Time left = cluster.remaining_on(job, TypeId(t)); left >= Time{0}) least = std::min(least, left);
  return least == kNever ? Time{0} : least;
}

std::size_t least(const std::vector<double>& costs) {
  return std::size_t(std::min_element(costs.begin(), costs.end()) - costs.begin());
}

// Over the jobs that have arrived, on a whole GPU.
Time mean_run(const Cluster& cluster) {
  double sum = 0;
  std::size_t jobs = 0;
  for (std::size_t j = 0; j < cluster.states().size(); ++j) {
    if (cluster.states()[j].phase == JobPhase::kAbsent) continue;
    Time least = kNever;
    for (std::size_t t = 0; t < cluster.platform().types().size(); ++t)
      if (const Time work = cluster.jobs().work(JobId(j), TypeId(t)); work >= Time{0}) least = std::min(least, work);
    if (least == kNever) continue;
    sum += double(least.count());
    ++jobs;
  }
  return jobs == 0 ? Time{0} : Time(std::int64_t(sum / double(jobs)));
}

}  // namespace

struct ShadowJudge::Shadow {
  NamedPolicy named;
  std::unique_ptr<SimFleet> fleet;
  std::unique_ptr<Session> session;
  std::optional<DecisionLoop> loop;
  std::deque<double> costs;  // at the window's checks

  double cost_at(Time now, double w) {
    while (loop->step(now)) {
    }
    const Cluster& cluster = session->cluster();
    double late = 0;
    for (std::size_t j = 0; j < cluster.states().size(); ++j) {
      const JobState& state = cluster.states()[j];
      if (state.phase == JobPhase::kAbsent || state.phase == JobPhase::kWithdrawn) continue;
      const Time deadline = cluster.jobs().job(JobId(j)).deadline;
      if (deadline == kNever) continue;
      const bool waits = state.phase == JobPhase::kQueued;
      const Time end = waits ? now + least_left(cluster, JobId(j)) : state.finish;
      if (end > deadline) late += minutes(end - deadline);
    }
    return late + w * watt_minutes(cluster.total_joules());
  }
};

ShadowJudge::ShadowJudge(std::vector<NamedPolicy> candidates, std::size_t first, double w, ShadowOptions options)
    : options_(options), w_(w), first_(first) {
  for (NamedPolicy& candidate : candidates) {
    shadows_.push_back(std::make_unique<Shadow>());
    shadows_.back()->named = std::move(candidate);
  }
}
ShadowJudge::~ShadowJudge() = default;

// The shadows begin as the real world did and see the same arrivals.
void ShadowJudge::begin(const Cluster& cluster) {
  identity_ = cluster.identity();
  next_check_ = cluster.now() + options_.check;
  const auto share = [](const auto& object) {  // shares objects that the judged cluster keeps alive
    return std::shared_ptr<std::remove_reference_t<decltype(object)>>(std::shared_ptr<void>(), &object);
  };
  for (auto& shadow : shadows_) {
    std::vector<Layout> layouts;
    for (std::size_t g = 0; g < shadow->named.initial.size(); ++g)
      layouts.push_back(*cluster.platform().model(GpuId(g)).shapes->realise(shadow->named.initial[g], {}, {}));
    Cluster world(share(cluster.platform()), share(cluster.jobs()), cluster.cost(), std::move(layouts));
    shadow->fleet = std::make_unique<SimFleet>(world);
    shadow->session = std::make_unique<Session>(*shadow->fleet, std::move(world));
    shadow->loop.emplace(*shadow->session, [policy = shadow->named.policy.get()](const Cluster& now, Plan& plan) {
      policy->decide(now, plan);
    });
    shadow->costs.assign(1, 0);
  }
}

std::size_t ShadowJudge::compare(const Cluster& cluster, std::size_t deciding) {
  constexpr std::size_t kChecks = 8;  // per window
  const Time now = cluster.now();
  std::vector<double> recent, all;
  for (auto& shadow : shadows_) {
    all.push_back(shadow->cost_at(now, w_));
    shadow->costs.push_back(all.back());
    if (shadow->costs.size() > kChecks + 1) shadow->costs.pop_front();
    recent.push_back(shadow->costs.back() - shadow->costs.front());
  }
  next_check_ = now + std::max(options_.check, mean_run(cluster));
  if (shadows_[0]->costs.size() <= kChecks / 2) return deciding;  // less than half a window is too little to judge by
  const double factor = 1 + (cluster.cost().free() ? options_.margin : options_.margin_with_costs);
  const auto level = [factor](const std::vector<double>& costs, std::size_t candidate) {
    return costs[candidate] <= factor * *std::min_element(costs.begin(), costs.end());
  };
  // With free preemption, the last hours show the best candidate, and a change costs nothing. Under hardware costs
  // these hours are partly noise: the deciding one gives way if it is behind both in them and since the beginning; the
  // policy comes back once it is the best in both.
  if (cluster.cost().free()) {
    if (level(recent, 0)) return 0;
    return level(recent, deciding) ? deciding : least(recent);
  }
  const auto ahead = [](const std::vector<double>& costs) {
    return costs[0] < *std::min_element(costs.begin() + 1, costs.end());
  };
  if (ahead(recent) && ahead(all)) return 0;
  return level(recent, deciding) || level(all, deciding) ? deciding : least(all);
}

std::size_t ShadowJudge::choose(const Cluster& cluster, std::size_t deciding) {
  if (identity_ != cluster.identity()) {
    begin(cluster);
    deciding = first_;
  }
  return cluster.now() >= next_check_ ? compare(cluster, deciding) : deciding;
}

}  // namespace smartmig
