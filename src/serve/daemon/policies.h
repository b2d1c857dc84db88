// The policies of a daemon, made from its settings: the one that decides, with what is wrapped around it, and those of
// forked futures (eta, whatif, why, the guard).
//
//   policy (with a plain one to fall back to, where it is guarded) -> bounded overtaking -> power caps -> start filter
//
// The filter asks `gate` about each start: what users and the host have left is not a policy's business.
// make() replaces everything or, where something cannot be made, nothing. Thread rule: the owner's; what maker()
// returns may be called on any thread.
#pragma once
#include <memory>
#include <string>

#include "eval/futures.h"
#include "policy/bounded_overtaking.h"
#include "policy/power_cap.h"
#include "serve/config/settings.h"
#include "serve/daemon/guarded_policy.h"
#include "serve/daemon/start_filter.h"

namespace smartmig {

class Policies {
 public:
  // `settings` outlives it and is read anew by each make().
  Policies(const Settings& settings, std::shared_ptr<const Platform> platform, CostModel cost, StartFilter::Gate gate,
           std::function<void()> begin_plan);

  Result<Ok> make();
  void decide(const Cluster& cluster, Plan& plan) { filter_->decide(cluster, plan); }
  void rows_renumbered() { filter_->forget(); }

  const std::string& name() const { return named_.name; }               // as configured: "guard(planner)"
  std::string plain_name() const;                                       // without guard(...)
  const std::vector<Shape>& initial() const { return named_.initial; }  // one for each GPU
  PowerCaps caps() const;
  PolicyMaker maker(const std::string& name) const;  // for futures
  std::unique_ptr<Policy> take_shadow() { return std::move(shadow_); }

  GuardedPolicy* guard() { return guarded_; }  // null: the policy is not guarded
  std::uint64_t falls() const { return guarded_ ? guarded_->falls() : 0; }
  const BoundedOvertaking& overtaking() const { return *overtaking_; }
  const PowerCap& power_cap() const { return *power_cap_; }
  const StartFilter& filter() const { return *filter_; }

 private:
  PolicyOptions options() const;

  const Settings& settings_;
  std::shared_ptr<const Platform> platform_;
  CostModel cost_;
  StartFilter::Gate gate_;
  std::function<void()> begin_plan_;
  NamedPolicy named_;                    // its policy has moved into the chain below
  std::unique_ptr<PowerCap> power_cap_;  // holds overtaking_, which holds the policy
  BoundedOvertaking* overtaking_ = nullptr;
  GuardedPolicy* guarded_ = nullptr;
  std::unique_ptr<StartFilter> filter_;
  std::unique_ptr<Policy> shadow_;
};

// The plain policies that a guard compares with; the first one decides while the guard holds.
inline constexpr const char* kPlainPolicies[] = {"none+edf", "none+cedf"};

// A decision is due unless all that happened is that slices came and went in a fleet without jobs. Such a fleet stays
// as it is, or a policy that draws layouts by chance would reshape for ever.
bool worth_deciding(const Cluster& cluster);

}  // namespace smartmig
