// From what jobs have chosen to what a plan says: who stays, who stops, who starts where. Under paper costs, where all
// jobs are placed anew at every decision.
//
// Equal slices are interchangeable there: which of the chosen slices of one type a job gets changes neither its speed
// nor, with a table of watts by busy slices, any GPU's power, and everything is placed anew at the next event. So a job
// that stays on its type keeps its slice if that slice is among the chosen ones; the others take the chosen slices that
// are left, in order of choosing, lowest first (GPUs by mean slice size, slices small to large). A job gets the very
// slice that its rule chose where that matters: with power that depends on the job, and for rules that keep groups of
// GPUs apart.
#pragma once
#include <utility>
#include <vector>

#include "policy/board.h"

namespace smartmig {

class PlanDiff {
 public:
  using Assigned = std::vector<std::pair<JobId, Slot>>;  // in order of choosing
  // `jobs`: all that run, in any company; those of them that do not stay are stopped in their order.
  void write(const Cluster& cluster, const Board& board, bool interchangeable, const Assigned& assigned,
             const std::vector<JobId>& jobs, Plan& plan);

 private:
  void keep_exact(const Cluster& cluster, const Assigned& assigned, Plan& plan);
  void keep_by_type(const Cluster& cluster, const Board& board, const Assigned& assigned, Plan& plan);
  Start hand_out(const Platform& platform, const Board& board, JobId job, TypeId type);

  std::vector<std::uint8_t> stays_;    // by job; all 0 between calls
  std::vector<std::uint32_t> chosen_;  // by GPU: placements chosen and not yet handed out
};

}  // namespace smartmig
