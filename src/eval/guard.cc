#include "eval/guard.h"

namespace smartmig {
namespace {

constexpr const char* kProven = "planner";

}  // namespace

Guard::Guard(std::vector<NamedPolicy> candidates, Judge judge)
    : candidates_(std::move(candidates)), judge_(std::move(judge)) {
  SMARTMIG_CHECK(candidates_.size() > 1, "a guard without a plain policy");
}

void Guard::use(std::size_t candidate) {
  SMARTMIG_CHECK(candidate < candidates_.size(), "a guard has no candidate {}", candidate);
  fallbacks_ += deciding_ == 0 && candidate != 0;
  deciding_ = candidate;
}

void Guard::decide(const Cluster& cluster, Plan& plan) {
  if (judge_) use(judge_(cluster, deciding_));
  const bool refused = cluster.last_plan_refused() && decided_ == 0;
  fallbacks_ += refused;
  decided_ = refused && deciding_ == 0 ? 1 : deciding_;
  candidates_[decided_].policy->decide(cluster, plan);
}

std::vector<std::string> plain_policies(const CostModel& cost, const Platform& platform, bool planners) {
  std::vector<std::string> names = {"none+edf", "none+cedf"};
  if (make_policy("search+cedf", {}, cost, platform)) names.push_back("search+cedf");
  if (planners && !cost.free()) {
    names.push_back("batch");
    names.push_back(kProven);
  }
  return names;
}

Result<std::vector<NamedPolicy>> guard_candidates(const PolicyName& name, const PolicyOptions& options,
                                                  const CostModel& cost, const Platform& platform, bool planners) {
  std::vector<NamedPolicy> out;
  SMARTMIG_TRY(NamedPolicy own, make_policy(name, options, cost, platform));
  out.push_back(std::move(own));
  const PolicyOptions plain = without_parameters(options);
  for (const std::string& each : plain_policies(cost, platform, planners)) {
    SMARTMIG_TRY(NamedPolicy made, make_policy(each, plain, cost, platform));
    if (made.name != out.front().name) out.push_back(std::move(made));
  }
  return out;
}

std::size_t first_to_decide(const std::vector<NamedPolicy>& candidates, const CostModel& cost) {
  for (std::size_t i = 0; i < candidates.size() && !cost.free(); ++i)
    if (candidates[i].name == kProven) return i;
  return 0;
}

}  // namespace smartmig
