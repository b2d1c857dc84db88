// The recommended policy, right with and without deadlines. While a job with a deadline waits, the planner by finishes
// (policy/list_planner.h) decides about all: what counts is who is late, and jobs without a deadline are wanted as soon
// as possible. While none does, the end of the whole queue counts, and `batch` (policy/batch.h) decides.
//
// Either copes with what the other has left: plans are made for the slices that exist and are being made, and what one
// keeps from decision to decision is corrected by what it finds.
#pragma once
#include <memory>

#include "policy/batch.h"
#include "sched/policy.h"

namespace smartmig {

class BestPolicy : public Policy {
 public:
  // `effort`: of batch.
  explicit BestPolicy(std::unique_ptr<Policy> planner, double effort = 1)
      : planner_(std::move(planner)), batch_(0, effort) {}
  void decide(const Cluster& cluster, Plan& plan) override;
  std::vector<PlannedStart> planned_starts(const Cluster& cluster) const override {
    return by_planner_ ? planner_->planned_starts(cluster) : batch_.planned_starts(cluster);
  }

 private:
  bool deadline_waits(const Cluster& cluster);

  std::unique_ptr<Policy> planner_;
  BatchPolicy batch_;
  bool by_planner_ = false;  // at the last decision
  JobId urgent_ = kNoJob;    // waited with a deadline at the last decision
};

}  // namespace smartmig
