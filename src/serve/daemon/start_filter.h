// A policy whose starts pass a gate: what a user may hold, what the host has left. Held-back starts are dropped from
// the plan, counted, and their reason is kept for `why` until the job starts. The gate is told of each start that
// passes, so that it counts what this plan takes already.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "sched/policy.h"

namespace smartmig {

class StartFilter : public Policy {
 public:
  // Empty: it may start.
  using Gate = std::function<std::string(const Cluster&, const Start&)>;
  StartFilter(Policy& inner, Gate gate, std::function<void()> begin_plan)
      : inner_(inner), gate_(std::move(gate)), begin_plan_(std::move(begin_plan)) {}

  void decide(const Cluster& cluster, Plan& plan) override {
    inner_.decide(cluster, plan);
    begin_plan_();
    std::erase_if(plan.starts, [&](const Start& start) {
      std::string objection = gate_(cluster, start);
      if (objection.empty()) {
        objections_.erase(start.job);
        return false;
      }
      ++held_back_;
      objections_[start.job] = std::move(objection);
      return true;
    });
  }
  std::string objection(JobId job) const {
    const auto at = objections_.find(job);
    return at == objections_.end() ? std::string() : at->second;
  }
  void forget() { objections_.clear(); }  // rows were renumbered
  std::uint64_t held_back() const { return held_back_; }

 private:
  Policy& inner_;
  Gate gate_;
  std::function<void()> begin_plan_;
  std::map<JobId, std::string> objections_;
  std::uint64_t held_back_ = 0;
};

}  // namespace smartmig
