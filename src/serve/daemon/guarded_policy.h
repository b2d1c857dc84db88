// A policy and a plain one to fall back to: for the next decision after an action of it was refused as illegal, and for
// as long as the owner says that the plain one would do better (Advisor). Each fall is counted.
#pragma once
#include <cstdint>
#include <memory>

#include "sched/policy.h"

namespace smartmig {

class GuardedPolicy : public Policy {
 public:
  GuardedPolicy(std::unique_ptr<Policy> policy, std::unique_ptr<Policy> plain)
      : policy_(std::move(policy)), plain_(std::move(plain)) {}

  void decide(const Cluster& cluster, Plan& plan) override {
    const bool illegal = cluster.last_plan_refused() && was_policy_;
    falls_ += illegal;
    was_policy_ = !illegal && !worse_;
    (was_policy_ ? *policy_ : *plain_).decide(cluster, plan);
  }
  void set_worse(bool worse) {
    falls_ += worse && !worse_;
    worse_ = worse;
  }
  bool worse() const { return worse_; }
  std::uint64_t falls() const { return falls_; }

 private:
  std::unique_ptr<Policy> policy_, plain_;
  bool worse_ = false, was_policy_ = false;
  std::uint64_t falls_ = 0;
};

}  // namespace smartmig
