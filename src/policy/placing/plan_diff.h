// From the jobs' choices to a plan: who stays, who stops, who starts where. For paper costs, where every decision
// places all jobs again.
//
// Equal slices are interchangeable there. Which chosen slice of a type a job gets changes neither its speed nor, with a
// table of watts by busy slices, any GPU's power, and the next event places everything again. So a job that stays on
// its type keeps its slice if that slice is among the chosen ones. The others take the remaining chosen slices, in the
// order of choosing, lowest first (GPUs by mean slice size, slices small to large). A job gets the exact slice that its
// rule chose if that matters: if power depends on the job, or the rule separates groups of GPUs.
#pragma once
#include <utility>
#include <vector>

#include "policy/placing/placing_state.h"

namespace smartmig {

class PlanDiff {
 public:
  using Assigned = std::vector<std::pair<JobId, Slot>>;  // in the order of choosing
  // `jobs`: all running jobs, possibly among others. Those that do not stay are stopped in this order.
  void write(const Cluster& cluster, const PlacingState& board, bool interchangeable, const Assigned& assigned,
             const std::vector<JobId>& jobs, Plan& plan);

 private:
  void keep_exact(const Cluster& cluster, const Assigned& assigned, Plan& plan);
  void keep_by_type(const Cluster& cluster, const PlacingState& board, const Assigned& assigned, Plan& plan);
  Start hand_out(const Platform& platform, const PlacingState& board, JobId job, TypeId type);

  std::vector<std::uint8_t> stays_;    // by job; all 0 between calls
  std::vector<std::uint32_t> chosen_;  // by GPU: placements chosen and not yet given to a job
};

}  // namespace smartmig
