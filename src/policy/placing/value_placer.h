// A placer that weighs all jobs together: it finds the assignment of greatest total worth on the existing slices. The
// value of a minute of progress is the planner's (job_value.h). The cost of a slice per minute is its share of the
// watts of a full GPU. It is the planner's second half, for layouts that something else has chosen: a fixed partition,
// or a learned controller. A job that is worth less than its watts waits, unless nothing runs at all.
//
// Under paper costs it places all unfinished jobs again; under hardware costs it puts waiting ones on free slices.
#pragma once
#include <array>
#include <vector>

#include "policy/placing/job_value.h"
#include "policy/placing/plan_diff.h"
#include "policy/placing/slot_market.h"

namespace smartmig {

class ValuePlacer : public Placer {
 public:
  // w: minutes of tardiness per watt-minute.
  ValuePlacer(const JobWeights& weights, double w) : weights_(weights), w_(w) {}
  void place(const Cluster& cluster, const UsableSlices& usable, Plan& plan) override;

 private:
  void see_types(const Cluster& cluster);
  void offer(const Cluster& cluster, double w);  // offers jobs and free slices to the market
  void take_slices(const Cluster& cluster);

  JobWeights weights_;
  double w_;
  SlotMarket market_;
  PlacingState board_;
  PlanDiff diff_;
  std::vector<JobId> jobs_;
  PlanDiff::Assigned assigned_;
  std::vector<TypeId> types_;        // the fleet's
  std::vector<TypeId> on_offer_;     // those with a free slice
  std::vector<std::int64_t> slots_;  // of each type on offer
  std::vector<double> times_;        // [job][type, least, slack], minutes
  std::vector<double> gains_;        // one job's
};

}  // namespace smartmig
