// Watches a policy and falls back to plain ones. A plain policy decides
//   - once, after an action of the policy was refused as illegal;
//   - for as long as the judge names it instead of the policy.
// Each change away from the policy is counted.
//
// The judge: in a simulation ShadowJudge (shadow_judge.h), by what each candidate would have cost over the last hours;
// in the daemon its owner, by what each would cost from now on (PolicyAdvice), through use().
//
// Written guard(POLICY), for example guard(planner) or guard(meanfield+cedf).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "policy/registry.h"

namespace smartmig {

class Guard : public Policy {
 public:
  // Names the candidate that should decide, given the one that does now. Called at each decision.
  using Judge = std::function<std::size_t(const Cluster&, std::size_t deciding)>;
  // Candidate 0 is the guarded policy; the others, at least one, are plain.
  explicit Guard(std::vector<NamedPolicy> candidates, Judge judge = {});
  void decide(const Cluster& cluster, Plan& plan) override;
  std::vector<PlannedStart> planned_starts(const Cluster& cluster) const override {
    return candidates_[deciding_].policy->planned_starts(cluster);
  }

  void use(std::size_t candidate);
  std::size_t deciding() const { return deciding_; }  // 0: the guarded policy
  const std::vector<NamedPolicy>& candidates() const { return candidates_; }
  std::uint64_t fallbacks() const { return fallbacks_; }

 private:
  std::vector<NamedPolicy> candidates_;
  Judge judge_;
  std::size_t deciding_ = 0, decided_ = 0;  // deciding_: now; decided_: at the last decision
  std::uint64_t fallbacks_ = 0;
};

// The policies to fall back to: none+edf, none+cedf, and if the fleet's GPUs have such shapes, the shipped searched
// partition with CEDF. With `planners` and under hardware costs, also batch and the planner. The daemon omits those: it
// runs every candidate to the end of the queue again and again, for which they are too slow.
std::vector<std::string> plain_policies(const CostModel& cost, const Platform& platform, bool planners);

// The guarded policy and its plain ones, in Guard's order. `options`: the policy's own.
Result<std::vector<NamedPolicy>> guard_candidates(const PolicyName& name, const PolicyOptions& options,
                                                  const CostModel& cost, const Platform& platform, bool planners);

// The candidate that decides before anything is known of the guarded one. Under hardware costs, where a bad start
// persists, the planner; else the guarded policy itself.
std::size_t first_to_decide(const std::vector<NamedPolicy>& candidates, const CostModel& cost);

}  // namespace smartmig
