#include "cluster/confined_plans.h"

#include <algorithm>

namespace smartmig {
namespace {

bool has_any(const ConfinedPlans::Gpus& gpus) { return std::find(gpus.begin(), gpus.end(), true) != gpus.end(); }

bool has_all(const ConfinedPlans::Gpus& gpus) { return std::find(gpus.begin(), gpus.end(), false) == gpus.end(); }

}  // namespace

std::vector<ConfinedPlans::Part> ConfinedPlans::parts_of(const Cluster& cluster, const Asked& where) const {
  std::map<Gpus, std::size_t> known;
  std::vector<Part> parts;
  const Gpus all(cluster.gpus().size(), true);
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
    if (cluster.state(job).phase != JobPhase::kQueued) continue;
    const Where asked = where(job);
    const Gpus& gpus = asked.now ? *asked.now : all;
    const auto [at, added] = known.emplace(gpus, parts.size());
    if (added) parts.push_back({gpus, {}, !has_all(gpus)});
    parts[at->second].jobs.push_back(job);
  }
  return parts;
}

void ConfinedPlans::forget() {
  keeper_ = kNoJob;
  kept_node_ = -1;
}

// The node where the running jobs end first, of those that the job may ever use.
void ConfinedPlans::keep_a_node(const Cluster& cluster, const std::vector<Part>& parts, const Asked& where) {
  const bool waits =
      keeper_ != kNoJob && std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
        return part.confined && std::find(part.jobs.begin(), part.jobs.end(), keeper_) != part.jobs.end();
      });
  if (waits) return;
  forget();
  if (parts.empty() || !parts.front().confined) return;
  const JobId oldest = parts.front().jobs.front();
  if (cluster.now() - cluster.jobs().job(oldest).submit < kKeepAfter) return;
  const Where asked = where(oldest);
  std::map<int, Time> ends;
  for (std::size_t g = 0; g < node_of_.size(); ++g)
    if (!cluster.gpus()[g].blocked && (!asked.ever || (*asked.ever)[g])) ends.emplace(node_of_[g], cluster.now());
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
    const JobState& state = cluster.state(job);
    if (state.phase != JobPhase::kRunning) continue;
    if (const auto at = ends.find(node_of_[index(state.gpu)]); at != ends.end())
      at->second = std::max(at->second, state.finish);
  }
  if (ends.empty()) return;
  keeper_ = oldest;
  kept_node_ = std::min_element(ends.begin(), ends.end(), [](const auto& a, const auto& b) {
                 return a.second < b.second;
               })->first;
}

// What is legal beside the earlier parts.
void ConfinedPlans::take(const Plan& planned, const Part& part, const Gpus& open, Cluster& view, Plan& plan) const {
  const Time now = view.now();
  plan.look_again = std::min(plan.look_again, planned.look_again);
  for (const JobId job : planned.stops) {
    const bool started_now =
        std::any_of(plan.starts.begin(), plan.starts.end(), [&](const Start& s) { return s.job == job; });
    if (started_now || view.refusal_of_stop(job) != Refusal::kNone || !open[index(view.state(job).gpu)]) continue;
    view.apply(Event::stopped(now, job));
    plan.stops.push_back(job);
  }
  for (const Reshape& reshape : planned.reshapes) {
    if (!open[index(reshape.gpu)] || view.refusal_of_reshape(reshape) != Refusal::kNone) continue;
    const bool taken = std::any_of(plan.reshapes.begin(), plan.reshapes.end(),
                                   [&](const Reshape& other) { return other.gpu == reshape.gpu; });
    if (taken) continue;
    view.apply(Event::reshape_asked(now, reshape.gpu, reshape.to));
    plan.reshapes.push_back(reshape);
  }
  for (const Start& start : planned.starts) {
    if (!open[index(start.gpu)] || view.refusal_of_start(start) != Refusal::kNone) continue;
    if (std::find(part.jobs.begin(), part.jobs.end(), start.job) == part.jobs.end() &&
        std::find(planned.stops.begin(), planned.stops.end(), start.job) == planned.stops.end())
      continue;
    view.apply(Event::started(now, start.job, start.gpu, start.where));
    plan.starts.push_back(start);
  }
}

void ConfinedPlans::decide(Policies& policies, const std::shared_ptr<const Platform>& platform, const Cluster& cluster,
                           const Asked& where, Plan& plan) {
  std::vector<Part> parts = parts_of(cluster, where);
  if (std::none_of(parts.begin(), parts.end(), [](const Part& part) { return part.confined; })) {
    policies_.clear();
    forget();
    return policies.decide(cluster, plan);
  }
  // first_unfinished() is in order of arrival, so parts are by their oldest job.
  keep_a_node(cluster, parts, where);
  std::erase_if(policies_, [&](const auto& one) {
    return std::none_of(parts.begin(), parts.end(), [&](const Part& part) { return part.gpus == one.first; });
  });
  if (std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.confined; }))
    parts.push_back({Gpus(cluster.gpus().size(), true), {}, false});  // layouts of the rest
  Cluster view = cluster;
  for (const Part& part : parts) {
    if (!has_any(part.gpus)) continue;
    const bool keeps = std::find(part.jobs.begin(), part.jobs.end(), keeper_) != part.jobs.end();
    Gpus open = part.gpus;
    if (!keeps && kept_node_ >= 0)
      for (std::size_t g = 0; g < open.size(); ++g) open[g] = open[g] && node_of_[g] != kept_node_;
    Cluster mine = view;
    for (std::size_t g = 0; g < open.size(); ++g)
      if (!open[g] && !mine.gpus()[g].blocked) mine.apply(Event::blocked(mine.now(), GpuId(std::uint32_t(g))));
    for (const Part& other : parts)
      for (const JobId job : other.jobs)
        if (&other != &part && mine.state(job).phase == JobPhase::kQueued)
          mine.apply(Event::withdrawn(mine.now(), job));
    Plan planned;
    if (part.confined) {
      NamedPolicy& policy = policies_[part.gpus];
      if (!policy.policy) {
        auto made = policies.deciding()(platform);
        if (!made) continue;  // the deciding policy itself was made, so this cannot be
        policy = std::move(*made);
      }
      policy.policy->decide(mine, planned);
    } else {
      policies.decide(mine, planned);
    }
    take(planned, part, open, view, plan);
  }
}

}  // namespace smartmig
