// Makes a policy from its name (policy_table.h says how names are written).
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy_table.h"
#include "sched/policy.h"

namespace smartmig {

struct NamedPolicy {
  std::string name;  // in the form of PolicyName::full
  std::unique_ptr<Policy> policy;
  std::vector<Shape> initial;                 // one per GPU: a simulation's initial shapes
  std::string layouts;                        // in words, for reports
  std::vector<std::uint64_t> training_seeds;  // the seeds of its search or training
  std::string trained_for = {};               // a trained network's cost model; empty: none, or unknown
};

// guard(...) is an error here; eval/guard.h makes it.
Result<NamedPolicy> make_policy(std::string_view name, const PolicyOptions& options, const CostModel& cost,
                                const Platform& platform);
Result<NamedPolicy> make_policy(const PolicyName& name, const PolicyOptions& options, const CostModel& cost,
                                const Platform& platform);

Result<std::unique_ptr<Placer>> make_placer(std::string_view name, const PolicyOptions& options, const CostModel& cost);

}  // namespace smartmig
