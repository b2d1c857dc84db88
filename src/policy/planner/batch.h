// A batch that should be over soon, for few joules: what counts is the end of the last job and the energy until then,
// not any single job's deadline. At every decision the waiting jobs are scheduled on paper to their end
// (policy/planner/batch_schedule.h), searched for within a counted amount of work (policy/planner/batch_search.h); the
// runs that are due are started, and slices made for those that come next. The schedule is kept from decision to
// decision and improved; when many jobs are new it is also made again. Jobs of which the same is known start in the
// order in which they came.
//
// A slice is changed ahead: as soon as the next job that the schedule puts on it wants another, idle slices in the way
// go while the busy ones run on. Running jobs are never stopped. Hardware costs only. At most kWindow jobs, the
// longest, are looked at; a stream of long jobs could starve short ones: policy/layers/bounded_overtaking.h around it
// prevents that.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "policy/planner/batch_search.h"
#include "sched/policy.h"

namespace smartmig {

class BatchPolicy : public Policy {
 public:
  static constexpr std::size_t kWindow = 256;
  // `energy_weight`: 0 (time alone) to 1 (joules alone); `effort`: share of the usual search. kLongFirst: no more are
  // expected until all is done.
  explicit BatchPolicy(double energy_weight, double effort = 1, BatchOrder order = BatchOrder::kShortFirst)
      : weight_(energy_weight), effort_(effort), order_(order) {}
  void decide(const Cluster& cluster, Plan& plan) override;
  std::vector<PlannedStart> planned_starts(const Cluster& cluster) const override;

 private:
  using KeptRun = std::pair<JobId, std::uint8_t>;
  std::vector<JobId> window(const Cluster& cluster) const;
  std::vector<PlannedRuns> kept(const Cluster& cluster, const ScheduleProblem& problem) const;
  void carry_out(const Cluster& cluster, const ScheduleProblem& problem, const std::vector<PlannedRuns>& lists,
                 Plan& plan) const;

  double weight_, effort_;
  BatchOrder order_;
  std::uint64_t identity_ = 0, decisions_ = 0;
  std::vector<std::vector<KeptRun>> kept_;  // by GPU: the schedule as it was left
};

}  // namespace smartmig
