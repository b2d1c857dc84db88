// Wraps a policy so that its starts pass a gate: what a user may hold, what the host has left. Drops and counts
// held-back starts, and keeps their reasons for `why` until the job starts. The gate judges the starts of a plan one
// after the other, so it can count what this plan already takes. begin_plan announces a new plan and the jobs that it
// stops.
#pragma once
#include <functional>
#include <map>
#include <memory>

#include "sched/policy.h"

namespace smartmig {

enum class StartObjection : std::uint8_t { kNone, kJobEnded, kUserSlices, kQuotaSlices, kHostCpus, kHostMemory };

struct StartGate {
  std::function<void(const Plan&)> begin_plan;
  std::function<StartObjection(const Cluster&, const Start&)> objection;
  explicit operator bool() const { return bool(objection); }
};

class StartFilter : public Policy {
 public:
  StartFilter(std::unique_ptr<Policy> inner, StartGate gate) : inner_(std::move(inner)), gate_(std::move(gate)) {}

  std::vector<PlannedStart> planned_starts(const Cluster& cluster) const override {
    return inner_->planned_starts(cluster);
  }
  void decide(const Cluster& cluster, Plan& plan) override {
    inner_->decide(cluster, plan);
    gate_.begin_plan(plan);
    std::erase_if(plan.starts, [&](const Start& start) {
      const StartObjection objection = gate_.objection(cluster, start);
      if (objection == StartObjection::kNone) {
        objections_.erase(start.job);
        return false;
      }
      ++held_back_;
      objections_[start.job] = objection;
      return true;
    });
  }
  StartObjection objection(JobId job) const {
    const auto at = objections_.find(job);
    return at == objections_.end() ? StartObjection::kNone : at->second;
  }
  void forget() { objections_.clear(); }  // for renumbered rows
  std::uint64_t held_back() const { return held_back_; }

 private:
  std::unique_ptr<Policy> inner_;
  StartGate gate_;
  std::map<JobId, StartObjection> objections_;
  std::uint64_t held_back_ = 0;
};

}  // namespace smartmig
