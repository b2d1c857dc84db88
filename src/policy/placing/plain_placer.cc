#include "policy/placing/plain_placer.h"

#include <algorithm>

namespace smartmig {

void TurnRule::order(const Cluster& cluster, std::vector<JobId>& jobs) {
  std::vector<Turn> turns;
  for (const JobId job : jobs) turns.push_back(turn_of(cluster, job));
  std::sort(turns.begin(), turns.end());
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i] = turns[i].job;
}

void PlainPlacer::place(const Cluster& cluster, const UsableSlices& usable, Plan& plan) {
  const bool preemptive = cluster.cost().free();
  jobs_.clear();
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job))
    if (preemptive || cluster.state(job).phase == JobPhase::kQueued) jobs_.push_back(job);
  rule_->order(cluster, jobs_);

  board_.reset(cluster, usable, preemptive);
  assigned_.clear();
  for (JobId job : jobs_) {
    if (board_.free_slots() == 0) break;
    const Slot slot = rule_->choose(cluster, board_, job);
    if (slot.none()) continue;
    board_.take(job, slot);
    assigned_.emplace_back(job, slot);
  }

  if (!preemptive) {
    for (const auto& [job, slot] : assigned_) plan.starts.push_back({job, slot.gpu, slot.where});
    return;
  }
  diff_.write(cluster, board_, rule_->slices_interchangeable(), assigned_, jobs_, plan);
}

}  // namespace smartmig
