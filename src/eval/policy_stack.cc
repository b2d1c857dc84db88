#include "eval/policy_stack.h"

#include "eval/shadow_judge.h"

namespace smartmig {
namespace {

bool wants_guard(const PolicyName& name, Guarding guarding) {
  switch (guarding) {
    case Guarding::kByShadows:
      return name.guarded;
    case Guarding::kByOwner:
      return name.guarded || name.policy->learned;
    case Guarding::kAlways:
      return true;
    case Guarding::kUnguarded:
      return false;
  }
  return false;
}

Result<std::unique_ptr<Guard>> make_guard(const PolicyName& name, const PolicyOptions& options, const PolicySpec& spec,
                                          const Platform& platform) {
  const bool by_shadows = spec.guarding == Guarding::kByShadows;
  SMARTMIG_TRY(auto candidates, guard_candidates(name, options, spec.cost, platform, by_shadows));
  Guard::Judge judge;
  if (by_shadows) {
    PolicyOptions own = options;
    own.arrivals = nullptr;  // a shadow would count the arrivals twice
    SMARTMIG_TRY(auto again, guard_candidates(name, own, spec.cost, platform, by_shadows));
    const std::size_t first = first_to_decide(again, spec.cost);
    judge = [shadows = std::make_shared<ShadowJudge>(std::move(again), first, options.rule.w)](
                const Cluster& cluster, std::size_t deciding) { return shadows->choose(cluster, deciding); };
  }
  return std::make_unique<Guard>(std::move(candidates), std::move(judge));
}

}  // namespace

Result<PolicyStack> PolicyStack::make(const PolicySpec& spec, std::shared_ptr<const Platform> platform,
                                      StartGate gate) {
  SMARTMIG_TRY(PolicyName name, parse_policy_name(spec.name));
  PolicyStack out;
  out.row_ = name.policy;
  out.arrivals_ = std::make_shared<ArrivalAverages>(spec.memory ? spec.memory->arrivals : ArrivalAverages{});
  PolicyOptions options = spec.options;
  options.arrivals = out.arrivals_;
  if (wants_guard(name, spec.guarding)) {
    SMARTMIG_TRY(auto guard, make_guard(name, options, spec, *platform));
    const NamedPolicy& own = guard->candidates()[0];
    out.name = own.name;
    out.initial = own.initial;
    out.layouts = own.layouts;
    out.training_seeds = own.training_seeds;
    out.trained_for = own.trained_for;
    out.guard_ = guard.get();
    out.policy = std::move(guard);
  } else {
    name.guarded = false;
    SMARTMIG_TRY(NamedPolicy named, make_policy(name, options, spec.cost, *platform));
    static_cast<NamedPolicy&>(out) = std::move(named);
  }
  if (spec.overtaking.bound != kNoBound || spec.overtaking.patience != kNever) {
    auto overtaking = std::make_unique<BoundedOvertaking>(std::move(out.policy), spec.overtaking);
    if (spec.memory) overtaking->remember(spec.memory->overtaking);
    out.overtaking_ = overtaking.get();
    out.policy = std::move(overtaking);
  }
  if (spec.windows) {
    PolicyOptions apart = options;
    apart.arrivals = nullptr;  // it would count the same arrivals twice
    name.guarded = false;
    auto another = [name, apart, cost = spec.cost, platform]() -> std::unique_ptr<Policy> {
      auto made = make_policy(name, apart, cost, *platform);
      SMARTMIG_CHECK(bool(made), "a policy that was made once cannot be made again");
      return std::move(made->policy);
    };
    out.policy = std::make_unique<ReservedGpus>(std::move(out.policy), spec.windows, std::move(another));
  }
  if (!spec.caps.none()) {
    auto cap = std::make_unique<PowerCap>(std::move(out.policy), spec.caps);
    if (spec.memory) cap->remember(spec.memory->held_back);
    out.power_cap_ = cap.get();
    out.policy = std::move(cap);
  }
  if (gate) {
    auto filter = std::make_unique<StartFilter>(std::move(out.policy), std::move(gate));
    out.filter_ = filter.get();
    out.policy = std::move(filter);
  }
  return out;
}

PolicyMemory PolicyStack::memory() const {
  PolicyMemory out;
  if (overtaking_) out.overtaking = overtaking_->memory();
  if (power_cap_) out.held_back = power_cap_->memory();
  if (arrivals_) out.arrivals = *arrivals_;
  return out;
}

}  // namespace smartmig
