// A policy with all that bounds it from outside, put around it in one place. The simulator, the daemon, its futures
// (eta, whatif, why, the guard), `decide` and the conformance test all get theirs here: what is predicted is what will
// decide.
//
// From the inside out; a layer that has nothing to do is left out:
//   policy      by name (policy_table.h)
//   guard       plain policies to fall back to (guard.h)                  guard(POLICY), or a Guarding that asks for it
//   overtaking  no waiting job is passed for ever (bounded_overtaking.h)  with a bound or patience
//   reserved    GPUs kept for some jobs for a time (reserved_gpus.h)      with a list of windows, which may be empty
//   power caps  no start that takes watts above a cap (power_cap.h)       with a cap
//   gate        no start that its user or the host has no room for        with a gate (start_filter.h)
#pragma once
#include <memory>
#include <string>

#include "eval/guard.h"
#include "policy/bounded_overtaking.h"
#include "policy/power_cap.h"
#include "policy/reserved_gpus.h"
#include "policy/start_filter.h"

namespace smartmig {

// What is done about guard(POLICY) and learned policies.
enum class Guarding {
  kByShadows,  // guard(POLICY) is judged by simulated shadows: simulations
  kByOwner,    // guard(POLICY) and learned policies are guarded, the owner judges: the daemon
  kAlways,     // as kByOwner, whatever the policy
  kUnguarded,  // guard(POLICY) is POLICY: a single decision, a future
};

// What the layers know of the fleet's jobs: a future that is given it goes on where the present is.
struct PolicyMemory {
  BoundedOvertaking::Memory overtaking;
  PowerCap::Memory held_back;
  ArrivalAverages arrivals;
};

struct PolicySpec {
  std::string name;
  PolicyOptions options;  // with parameters of the policy only
  CostModel cost;
  Guarding guarding = Guarding::kByShadows;
  OvertakingOptions overtaking{kNoBound, kNever};
  PowerCaps caps;
  std::shared_ptr<const GpuWindows> windows;   // of reserved GPUs; null: no such layer
  std::shared_ptr<const PolicyMemory> memory;  // null: it begins afresh
};

class PolicyStack : public NamedPolicy {  // `policy` is the outermost
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

  // By the last decision.
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
