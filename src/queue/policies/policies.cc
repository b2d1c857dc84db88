#include "queue/policies/policies.h"

namespace smartmig {
namespace {

// A future decides a thousand times, and there are many of them.
constexpr double kEffortOfFutures = 0.02;

}  // namespace

Policies::Policies(const Settings& settings, std::shared_ptr<const Platform> platform, CostModel cost, StartGate gate,
                   std::shared_ptr<const GpuWindows> windows)
    : settings_(settings),
      platform_(std::move(platform)),
      cost_(cost),
      gate_(std::move(gate)),
      windows_(std::move(windows)) {}

PowerCaps Policies::caps() const {
  const auto cap = [](double w) { return w > 0 ? w : kNoCap; };
  return PowerCaps{cap(settings_.power.board_cap_w), cap(settings_.power.fleet_cap_w)};
}

// `own`: with the parameters of the settings, which are the configured policy's.
PolicySpec Policies::spec(std::string name, bool own) const {
  PolicySpec out;
  out.name = std::move(name);
  if (own) {
    out.options.layouts = settings_.policy.layouts;
    out.options.weights = settings_.policy.weights;
    out.options.network = settings_.policy.network;
  }
  out.options.gather = settings_.policy.gather;
  out.options.rule.w = weight_of(settings_);
  out.cost = cost_;
  out.guarding = settings_.policy.guard ? Guarding::kAlways : Guarding::kByOwner;
  out.overtaking = {settings_.overtaking.bound, settings_.overtaking.patience};
  out.caps = caps();
  out.windows = windows_;
  return out;
}

PolicySpec Policies::future_spec(std::string name, bool own) const {
  PolicySpec out = spec(std::move(name), own);
  out.options.effort = kEffortOfFutures;
  out.memory = std::make_shared<const PolicyMemory>(stack_.memory());
  out.windows = std::make_shared<const GpuWindows>(*windows_);  // as they are now
  return out;
}

PolicyMaker Policies::own() const { return maker_of(future_spec(settings_.policy.name, true)); }
PolicyMaker Policies::other(const std::string& name) const { return maker_of(future_spec(name, false)); }
PolicySpec Policies::deciding_spec() const {
  const Guard* guard = stack_.guard();
  if (guard && guard->deciding() != 0) return future_spec(guard->candidates()[guard->deciding()].name, false);
  return future_spec(settings_.policy.name, true);
}
PolicyMaker Policies::deciding() const { return maker_of(deciding_spec()); }
PolicyMaker Policies::capped(const std::string& name, double fleet_cap_w) const {
  PolicySpec spec = name.empty() ? deciding_spec() : future_spec(name, false);
  spec.caps.fleet_w = fleet_cap_w > 0 ? fleet_cap_w : kNoCap;
  return maker_of(std::move(spec));
}

Result<Ok> Policies::make() {
  PolicySpec own = spec(settings_.policy.name, true);
  PolicyMemory memory = stack_.memory();
  if (!stack_.policy) memory.overtaking = BoundedOvertaking::counts_in(overtaken_before_);
  own.memory = std::make_shared<const PolicyMemory>(std::move(memory));
  SMARTMIG_TRY(PolicyStack stack, PolicyStack::make(own, platform_, gate_));
  if (stack.trained_for == CostModel{}.name())
    return invalid(
        "the network of policy {} was trained for costs '{}', where changing a GPU is free; "
        "train one with --env.cost hardware, or leave out `network` to use the shipped one",
        own.name, stack.trained_for);
  std::unique_ptr<Policy> shadow;
  if (!settings_.policy.shadow.empty()) {
    PolicySpec alone = spec(settings_.policy.shadow, false);
    alone.guarding = Guarding::kUnguarded;
    alone.overtaking = {kNoBound, kNever};
    alone.caps = {};
    alone.windows = nullptr;
    SMARTMIG_TRY(PolicyStack made, PolicyStack::make(alone, platform_));
    shadow = std::move(made.policy);
  }
  stack_ = std::move(stack);
  shadow_ = std::move(shadow);
  return Ok{};
}

bool worth_deciding(const Cluster& cluster) {
  if (cluster.unfinished() > 0 || cluster.news().empty()) return true;
  const EventKind last = cluster.news().back().kind;
  return last != EventKind::kCreated && last != EventKind::kDestroyed;
}

}  // namespace smartmig
