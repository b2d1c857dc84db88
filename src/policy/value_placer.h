// A placer that weighs all jobs at once: on the slices that there are, the assignment of greatest total worth. What a
// minute of progress is worth is the planner's (job_value.h), what a slice costs per minute is its share of the watts
// of a full GPU. So it is the planner's second half, for layouts that somebody else has chosen: a fixed partition, or a
// learned controller. A job that is worth less than its watts waits, but never while nothing runs at all.
//
// Under paper costs all unfinished jobs are placed anew, under hardware costs waiting ones go to free slices.
#pragma once
#include <array>
#include <vector>

#include "policy/job_value.h"
#include "policy/plan_diff.h"
#include "policy/slot_market.h"

namespace smartmig {

class ValuePlacer : public Placer {
 public:
  // w: minutes of tardiness per watt-minute.
  ValuePlacer(const JobWeights& weights, double w) : weights_(weights), w_(w) {}
  void place(const Cluster& cluster, const UsableSlices& usable, Plan& plan) override;

 private:
  void see_types(const Cluster& cluster);
  void offer(const Cluster& cluster, double w);  // jobs and free slices to the market
  void take_slices(const Cluster& cluster);

  JobWeights weights_;
  double w_;
  SlotMarket market_;
  Board board_;
  PlanDiff diff_;
  std::vector<JobId> jobs_;
  PlanDiff::Assigned assigned_;
  std::vector<TypeId> types_;        // of the fleet
  std::vector<TypeId> on_offer_;     // those with a free slice
  std::vector<std::int64_t> slots_;  // of each of them
  std::vector<double> times_;        // [job][type, least, slack], minutes
  std::vector<double> gains_;        // of one job
};

}  // namespace smartmig
