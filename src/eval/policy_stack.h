// Builds a policy with all layers that bound it from outside, in one place. The simulator, the daemon, its futures
// (eta, whatif, why, the guard), `decide` and the conformance test all use it, so the predicted policy is the one that
// will decide.
//
// From the inside out; a layer without work is omitted:
//   policy      by name (policy_table.h)
//   guard       plain policies to fall back to (guard.h)                  guard(POLICY), or a Guarding that asks for it
//   overtaking  no waiting job is passed forever (bounded_overtaking.h)   with a bound or patience
//   reserved    GPUs kept for some jobs for a time (reserved_gpus.h)      with a list of windows, which may be empty
//   power caps  no start that takes watts above a cap (power_cap.h)       with a cap
//   gate        no start that its user or the host has no room for        with a gate (start_filter.h)
#pragma once
#include <memory>
#include <string>

#include "eval/guard.h"
#include "policy/layers/bounded_overtaking.h"
#include "policy/layers/power_cap.h"
#include "policy/layers/reserved_gpus.h"
#include "policy/layers/start_filter.h"

namespace smartmig {

// How guard(POLICY) and learned policies are treated.
enum class Guarding {
  kByShadows,  // simulated shadows judge guard(POLICY): simulations
  kByOwner,    // guard(POLICY) and learned policies are guarded, and the owner judges: the daemon
  kAlways,     // as kByOwner, for every policy
  kUnguarded,  // guard(POLICY) counts as POLICY: a single decision, a future
};

// What the layers know of the fleet's jobs. With it, a future continues from the present.
struct PolicyMemory {
  BoundedOvertaking::Memory overtaking;
  PowerCap::Memory held_back;
  ArrivalAverages arrivals;
};

struct PolicySpec {
  std::string name;
  PolicyOptions options;  // only with the policy's own parameters
  CostModel cost;
  Guarding guarding = Guarding::kByShadows;
  OvertakingOptions overtaking{kNoBound, kNever};
  PowerCaps caps;
  std::shared_ptr<const GpuWindows> windows;   // of reserved GPUs; null: no such layer
  std::shared_ptr<const PolicyMemory> memory;  // null: it starts empty
};

class PolicyStack : public NamedPolicy {  // `policy` is the outermost layer
 public:
  static Result<PolicyStack> make(const PolicySpec& spec, std::shared_ptr<const Platform> platform,
                                  StartGate gate = {});
  const PolicyRow& row() const { return *row_; }
  // Null: there is no such layer.
  Guard* guard() const { return guard_; }
  const BoundedOvertaking* overtaking() const { return overtaking_; }
  const PowerCap* power_cap() const { return power_cap_; }
  StartFilter* filter() const { return filter_; }

  PolicyMemory memory() const;
  std::uint32_t most_overtaken() const { return overtaking_ ? overtaking_->most_overtaken() : 0; }

  // At the last decision.
  bool held_back_by_cap(JobId job) const { return power_cap_ && power_cap_->held_back(job); }
  bool never_fits_cap(const Cluster& cluster, JobId job) const {
    return power_cap_ && power_cap_->never_fits(cluster, job);
  }
  StartObjection objection(JobId job) const { return filter_ ? filter_->objection(job) : StartObjection::kNone; }

 private:
  const PolicyRow* row_ = nullptr;
  Guard* guard_ = nullptr;
  BoundedOvertaking* overtaking_ = nullptr;
  PowerCap* power_cap_ = nullptr;
  StartFilter* filter_ = nullptr;
  std::shared_ptr<ArrivalAverages> arrivals_;
};

}  // namespace smartmig
