#include "serve/daemon/policies.h"

#include "eval/guard.h"

namespace smartmig {

Policies::Policies(const Settings& settings, std::shared_ptr<const Platform> platform, CostModel cost,
                   StartFilter::Gate gate, std::function<void()> begin_plan)
    : settings_(settings),
      platform_(std::move(platform)),
      cost_(cost),
      gate_(std::move(gate)),
      begin_plan_(std::move(begin_plan)) {}

std::string Policies::plain_name() const {
  const std::string& name = settings_.policy.name;
  return name.starts_with("guard(") && name.ends_with(")") ? name.substr(6, name.size() - 7) : name;
}

PolicyOptions Policies::options() const {
  PolicyOptions options;
  options.layouts = settings_.policy.layouts;
  options.rule.seed = settings_.policy.seed;
  options.rule.w = settings_.prices.weight() > 0 ? settings_.prices.weight() : kPaperWeight;
  return options;
}

PowerCaps Policies::caps() const {
  const auto cap = [](double w) { return w > 0 ? w : kNoCap; };
  return PowerCaps{cap(settings_.power.board_cap_w), cap(settings_.power.fleet_cap_w)};
}

PolicyMaker Policies::maker(const std::string& name) const {
  PolicyOptions wanted = options();
  if (name != settings_.policy.name) wanted.layouts.clear();
  return named_policy(name, wanted, cost_);
}

Result<Ok> Policies::make() {
  const PolicyOptions wanted = options();
  PolicyOptions without_layouts = wanted;
  without_layouts.layouts.clear();
  const std::string name = plain_name();
  SMARTMIG_TRY(NamedPolicy named, make_any_policy(name, wanted, cost_, platform_));
  const bool learned = name.find("meanfield") != std::string::npos;
  std::unique_ptr<Policy> policy = std::move(named.policy);
  GuardedPolicy* guarded = nullptr;
  if (settings_.policy.guard || learned || name != settings_.policy.name) {
    SMARTMIG_TRY(NamedPolicy fallback, make_any_policy(kPlainPolicies[0], without_layouts, cost_, platform_));
    auto both = std::make_unique<GuardedPolicy>(std::move(policy), std::move(fallback.policy));
    guarded = both.get();
    policy = std::move(both);
  }
  std::unique_ptr<Policy> shadow;
  if (!settings_.policy.shadow.empty()) {
    SMARTMIG_TRY(NamedPolicy made, make_any_policy(settings_.policy.shadow, without_layouts, cost_, platform_));
    shadow = std::move(made.policy);
  }
  const bool plans_layouts = learned || name.find("planner") != std::string::npos;
  auto overtaking = std::make_unique<BoundedOvertaking>(
      std::move(policy), OvertakingOptions{settings_.overtaking.bound, settings_.overtaking.patience, !plans_layouts});
  named.name = settings_.policy.name;
  named_ = std::move(named);
  guarded_ = guarded;
  shadow_ = std::move(shadow);
  overtaking_ = overtaking.get();
  power_cap_ = std::make_unique<PowerCap>(std::move(overtaking), caps());
  filter_ = std::make_unique<StartFilter>(*power_cap_, gate_, begin_plan_);
  return Ok{};
}

bool worth_deciding(const Cluster& cluster) {
  if (cluster.unfinished() > 0 || cluster.news().empty()) return true;
  const EventKind last = cluster.news().back().kind;
  return last != EventKind::kCreated && last != EventKind::kDestroyed;
}

}  // namespace smartmig
