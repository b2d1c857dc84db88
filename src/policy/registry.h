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
  std::string name;  // as PolicyName::full gives it
  std::unique_ptr<Policy> policy;
  std::vector<Shape> initial;                 // one per GPU: the shapes a simulation begins with
  std::string layouts;                        // in words, for reports
  std::vector<std::uint64_t> training_seeds;  // seeds it was searched or trained on
  std::string trained_for = {};               // cost model of a trained network; empty: none, or not known
};

// guard(...) is made elsewhere (eval/guard.h): here it is an error.
Result<NamedPolicy> make_policy(std::string_view name, const PolicyOptions& options, const CostModel& cost,
                                const Platform& platform);
Result<NamedPolicy> make_policy(const PolicyName& name, const PolicyOptions& options, const CostModel& cost,
                                const Platform& platform);

Result<std::unique_ptr<Placer>> make_placer(std::string_view name, const PolicyOptions& options, const CostModel& cost);

}  // namespace smartmig
