// A placing rule of one's own, as docs/policies.md shows it: two functions, no state.
#pragma once
#include "policy/placing/plain_placer.h"
#include "policy/placing/slice_rules.h"

namespace smartmig {

// Shortest job first, each to the free slice that spends the fewest slice-seconds on it.
class ShortestFirst : public PlacingRule {
 public:
  void order(const Cluster& cluster, std::vector<JobId>& jobs) override {
    order_by(cluster, jobs, [&](JobId job) {  // then by deadline, then by id
      Time least = kNever;
      for (const Time work : cluster.jobs().work_row(job))
        if (work >= Time{0}) least = std::min(least, work);
      return least;
    });
  }

  Slot choose(const Cluster& cluster, const PlacingState& board, JobId job) override {
    const FinishByType finish(cluster, job);
    Slot best;
    double best_cost = 0;
    for (std::uint32_t g = 0; g < board.gpus().size(); ++g)
      for (const PlacementId p : board.small_to_large(g)) {
        const TypeId type = cluster.platform().type_of(GpuId(g), p);
        if (!(board.gpus()[g].free >> index(p) & 1) || finish[type] == kNever) continue;
        const double cost = seconds(finish[type] - cluster.now()) * cluster.platform().type(type).compute_slices;
        if (!best.none() && cost >= best_cost) continue;  // ties: lowest GPU, smallest slice
        best = {GpuId(g), p};
        best_cost = cost;
      }
    return best;
  }
};

}  // namespace smartmig
