#include "policy/placing/plan_diff.h"

namespace smartmig {

void PlanDiff::write(const Cluster& cluster, const PlacingState& board, bool interchangeable, const Assigned& assigned,
                     const std::vector<JobId>& jobs, Plan& plan) {
  stays_.resize(cluster.jobs().size());
  if (!interchangeable || !cluster.platform().power_by_slices_only())
    keep_exact(cluster, assigned, plan);
  else
    keep_by_type(cluster, board, assigned, plan);
  for (const JobId job : jobs) {
    if (cluster.state(job).phase == JobPhase::kRunning && !stays_[index(job)]) plan.stops.push_back(job);
    stays_[index(job)] = 0;
  }
}

void PlanDiff::keep_exact(const Cluster& cluster, const Assigned& assigned, Plan& plan) {
  for (const auto& [job, slot] : assigned) {
    const JobState& state = cluster.state(job);
    stays_[index(job)] = state.phase == JobPhase::kRunning && state.gpu == slot.gpu && state.where == slot.where;
    if (!stays_[index(job)]) plan.starts.push_back({job, slot.gpu, slot.where});
  }
}

void PlanDiff::keep_by_type(const Cluster& cluster, const PlacingState& board, const Assigned& assigned, Plan& plan) {
  const Platform& platform = cluster.platform();
  chosen_.assign(cluster.gpus().size(), 0);
  for (const auto& [job, slot] : assigned) chosen_[index(slot.gpu)] |= 1u << index(slot.where);
  for (const auto& [job, slot] : assigned) {
    const JobState& state = cluster.state(job);
    if (state.phase != JobPhase::kRunning || platform.type_of(slot.gpu, slot.where) != state.type) continue;
    if (!(chosen_[index(state.gpu)] >> index(state.where) & 1)) continue;
    chosen_[index(state.gpu)] &= ~(1u << index(state.where));
    stays_[index(job)] = 1;
  }
  for (const auto& [job, slot] : assigned)
    if (!stays_[index(job)])
      plan.starts.push_back(hand_out(platform, board, job, platform.type_of(slot.gpu, slot.where)));
}

Start PlanDiff::hand_out(const Platform& platform, const PlacingState& board, JobId job, TypeId type) {
  for (const std::uint32_t g : board.by_mean_size()) {
    if (chosen_[g] == 0) continue;
    for (const PlacementId p : board.small_to_large(g))
      if ((chosen_[g] >> index(p) & 1) && platform.type_of(GpuId(g), p) == type) {
        chosen_[g] &= ~(1u << index(p));
        return {job, GpuId(g), p};
      }
  }
  SMARTMIG_CHECK(false, "fewer slices than jobs of a type");
}

}  // namespace smartmig
