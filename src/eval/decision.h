// Takes one decision about a fleet read from JSON, and writes its plan as JSON (docs/decide.md).
#pragma once
#include <string>
#include <string_view>

#include "eval/state_json.h"
#include "policy/registry.h"

namespace smartmig {

// The policy for this moment. `static` without layouts keeps the shapes that the GPUs have or are about to have. Sets
// options.rule.w.
Result<NamedPolicy> policy_for(const FleetState& state, std::string_view name, PolicyOptions options,
                               std::optional<double> a = {});

struct Decision {
  Plan plan;      // each part sorted by arrival or GPU; every action is admitted
  Cluster after;  // the cluster after the plan's actions began
};

// kInvalid if the policy asks for an illegal action; says which and why.
Result<Decision> decide(const FleetState& state, Policy& policy);

// One line, or indented. Ends without a newline.
std::string to_json(const FleetState& state, std::string_view policy, const Decision& decision, bool indent);

}  // namespace smartmig
