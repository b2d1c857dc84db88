// States for smartmig decide: never crashes, and what is accepted gets a legal plan from every kind of policy.
#include <cstddef>
#include <cstdint>

#include "eval/decision.h"
#include "fuzz/target.h"

SMARTMIG_FUZZ_TARGET(state_json) {
  using namespace smartmig;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const CostModel::Kind kind : {CostModel::kPaper, CostModel::kHardware}) {
    const auto state = parse_state("fuzz", text, CostModel{kind, {}});
    if (!state) continue;
    for (const char* name : {"static+cedf", "none+edf", "static+met", "static+random", "none+llf-slow"}) {
      auto policy = policy_for(*state, name, {});
      if (!policy) continue;
      const auto decision = decide(*state, *policy->policy);
      SMARTMIG_CHECK(bool(decision), "{}: {}", name, decision.error().what);
      SMARTMIG_CHECK(to_json(*state, name, *decision, true).size() > 2, "no plan");
    }
  }
  return 0;
}
