// A policy whose starts pass a gate: what a user may hold, what the host has left. Held-back starts are dropped from
// the plan, counted, and their reason is kept for `why` until the job starts. The gate is told of each start that
// passes, so that it counts what this plan takes already.
#pragma once
#include <functional>
#include <map>

#include "sched/policy.h"

namespace smartmig {

enum class StartObjection : std::uint8_t { kNone, kJobEnded, kUserSlices, kHostCpus, kHostMemory };

class StartFilter : public Policy {
 public:
  using Gate = std::function<StartObjection(const Cluster&, const Start&)>;
  StartFilter(Policy& inner, Gate gate, std::function<void()> begin_plan)
      : inner_(inner), gate_(std::move(gate)), begin_plan_(std::move(begin_plan)) {}

  void decide(const Cluster& cluster, Plan& plan) override {
    inner_.decide(cluster, plan);
    begin_plan_();
    std::erase_if(plan.starts, [&](const Start& start) {
      const StartObjection objection = gate_(cluster, start);
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
  void forget() { objections_.clear(); }  // rows were renumbered
  std::uint64_t held_back() const { return held_back_; }

 private:
  Policy& inner_;
  Gate gate_;
  std::function<void()> begin_plan_;
  std::map<JobId, StartObjection> objections_;
  std::uint64_t held_back_ = 0;
};

}  // namespace smartmig
