// The policies of a daemon, made from its settings: the stack that decides (eval/policy_stack.h), those of forked
// futures (eta, whatif, why, the guard), and the shadow. Futures have the same caps and the same bound on overtaking,
// and know whom the present stack has overtaken and held back so far.
//
// The gate is asked about each start: policies need not know what users and the host have left. make() replaces
// everything or, where something cannot be made, nothing. Thread rule: the owner's; what a maker returns may be called
// on any thread.
#pragma once
#include <memory>
#include <string>

#include "eval/futures.h"
#include "queue/config/settings.h"

namespace smartmig {

class Policies {
 public:
  // `settings` outlives it; each make() reads it again. `windows` of reserved GPUs may change at any time.
  Policies(const Settings& settings, std::shared_ptr<const Platform> platform, CostModel cost, StartGate gate,
           std::shared_ptr<const GpuWindows> windows = std::make_shared<GpuWindows>());

  Result<Ok> make();  // what the layers know of the jobs is kept
  void remember(const std::string& overtaking) { overtaken_before_ = overtaking; }  // counts_text(); before make()
  void decide(const Cluster& cluster, Plan& plan) { stack_.policy->decide(cluster, plan); }
  void rows_renumbered() { stack_.filter()->forget(); }

  const std::string& name() const { return stack_.name; }  // "guard(planner)"
  const PolicyStack& stack() const { return stack_; }
  Guard* guard() { return stack_.guard(); }  // null: the policy is not guarded
  std::uint64_t fallbacks() const { return stack_.guard() ? stack_.guard()->fallbacks() : 0; }
  PowerCaps caps() const;
  std::unique_ptr<Policy> take_shadow() { return std::move(shadow_); }

  // For futures from now on.
  PolicyMaker own() const;                           // the configured policy, whoever decides now
  PolicyMaker deciding() const;                      // the one that decides now: a plain one while the guard fell back
  PolicyMaker other(const std::string& name) const;  // another in its place
  // Another (empty: the deciding one) under another cap of the whole fleet, in watts; 0: none.
  PolicyMaker capped(const std::string& name, double fleet_cap_w) const;

 private:
  PolicySpec spec(std::string name, bool own) const;
  PolicySpec future_spec(std::string name, bool own) const;
  PolicySpec deciding_spec() const;

  const Settings& settings_;
  std::shared_ptr<const Platform> platform_;
  CostModel cost_;
  StartGate gate_;
  std::shared_ptr<const GpuWindows> windows_;
  PolicyStack stack_;
  std::string overtaken_before_;
  std::unique_ptr<Policy> shadow_;
};

// A decision is due unless all that happened is that slices came and went in a fleet without jobs. Such a fleet stays
// as it is, or a policy that draws layouts by chance would reshape for ever.
bool worth_deciding(const Cluster& cluster);

}  // namespace smartmig
