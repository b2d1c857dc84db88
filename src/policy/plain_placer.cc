#include "policy/plain_placer.h"

namespace smartmig {

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
  const Platform& platform = cluster.platform();
  stays_.resize(cluster.jobs().size());
  if (!rule_->slices_interchangeable() || !platform.power_by_slices_only())
    keep_exact(cluster, plan);
  else
    keep_by_type(cluster, plan);
  for (JobId job : jobs_) {
    if (cluster.state(job).phase == JobPhase::kRunning && !stays_[index(job)]) plan.stops.push_back(job);
    stays_[index(job)] = 0;
  }
}

void PlainPlacer::keep_exact(const Cluster& cluster, Plan& plan) {
  for (const auto& [job, slot] : assigned_) {
    const JobState& state = cluster.state(job);
    stays_[index(job)] = state.phase == JobPhase::kRunning && state.gpu == slot.gpu && state.where == slot.where;
    if (!stays_[index(job)]) plan.starts.push_back({job, slot.gpu, slot.where});
  }
}

void PlainPlacer::keep_by_type(const Cluster& cluster, Plan& plan) {
  const Platform& platform = cluster.platform();
  chosen_.assign(cluster.gpus().size(), 0);
  for (const auto& [job, slot] : assigned_) chosen_[index(slot.gpu)] |= 1u << index(slot.where);
  for (const auto& [job, slot] : assigned_) {
    const JobState& state = cluster.state(job);
    if (state.phase != JobPhase::kRunning || platform.type_of(slot.gpu, slot.where) != state.type) continue;
    if (!(chosen_[index(state.gpu)] >> index(state.where) & 1)) continue;
    chosen_[index(state.gpu)] &= ~(1u << index(state.where));
    stays_[index(job)] = 1;
  }
  for (const auto& [job, slot] : assigned_)
    if (!stays_[index(job)]) plan.starts.push_back(hand_out(platform, job, platform.type_of(slot.gpu, slot.where)));
}

Start PlainPlacer::hand_out(const Platform& platform, JobId job, TypeId type) {
  for (const std::uint32_t g : board_.by_mean_size())
    for (const PlacementId p : board_.small_to_large(g))
      if ((chosen_[g] >> index(p) & 1) && platform.type_of(GpuId(g), p) == type) {
        chosen_[g] &= ~(1u << index(p));
        return {job, GpuId(g), p};
      }
  SMARTMIG_CHECK(false, "fewer slices than jobs of a type");
}

}  // namespace smartmig
