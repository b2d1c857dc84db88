// A policy that is watched: beside the real run, it and each fallback run in shadows, simulated worlds that are fed the
// same arrivals up to now. Every half hour, from the second hour on, their costs of the last four hours are compared,
// (new tardiness) + w * (new energy); if the policy's shadow did worse than a fallback's by more than a margin, the
// fallback decides until the policy's shadow is ahead again. Nothing is known before it happens: a shadow never runs
// past the present.
//
// Written guard(POLICY), for example guard(planner) or guard(meanfield+cedf). Fallbacks: none+edf, none+cedf and the
// shipped searched partition with CEDF. Costs of watching: one simulation of each candidate.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "policy/registry.h"
#include "sched/session.h"

namespace smartmig {

struct GuardOptions {
  Time check = Time(30LL * 60 * 1'000'000), window = Time(4LL * 3600 * 1'000'000);
  double margin = 0.01;
};

class Guard : public Policy {
 public:
  static Result<std::unique_ptr<Guard>> make(std::string_view inner, const PolicyOptions& options,
                                             const CostModel& cost, std::shared_ptr<const Platform> platform,
                                             GuardOptions guard = {});
  ~Guard() override;
  void decide(const Cluster& cluster, Plan& plan) override;
  const NamedPolicy& guarded() const { return guarded_; }
  std::uint64_t fallbacks() const { return fallbacks_; }  // times it changed away from the policy

 private:
  struct Candidate;
  Guard() = default;
  void meet(const Cluster& cluster);
  void compare(const Cluster& cluster);

  GuardOptions options_;
  double w_ = 0;
  NamedPolicy guarded_;  // its name, layouts and training seeds
  std::vector<std::unique_ptr<Candidate>> candidates_;
  std::size_t deciding_ = 0;
  std::uint64_t identity_ = 0, fallbacks_ = 0;
  Time next_check_{};
};

// A policy by name, guard(...) included.
Result<NamedPolicy> make_any_policy(std::string_view name, const PolicyOptions& options, const CostModel& cost,
                                    std::shared_ptr<const Platform> platform);

}  // namespace smartmig
