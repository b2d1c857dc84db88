// Enforces caps on watts: wraps any policy and holds back the starts of a plan that would take a board or the fleet
// above its cap, by the power model. It judges starts in the order of the plan, after its stops, so modelled watts
// never exceed a cap that the idle fleet meets. Running jobs are left alone: a cap that is lowered below the present
// watts holds back every start until enough jobs have finished.
//
// No starvation: a job that was held back in `bound` decisions is judged first, and while there is no room for it,
// later jobs wait with it (those of its board, or all if the fleet's cap is the obstacle). Jobs that exceed the caps
// everywhere, even alone, block nobody; never_fits() names them.
// The inner policy does not know the caps. A job that may run only on small slices because of them must be bound with
// those sizes (limit_sizes); otherwise the policy may plan it for a large one again and again. While starts are held
// back, a GPU is reshaped at most once between two starts or completions of the fleet, so layouts do not churn for jobs
// that cannot start. This layer wraps BoundedOvertaking, since that layer's starts must meet the caps, too. A job that
// the plan stops and whose new start is held back stays stopped. Watts; kNoCap: none.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sched/policy.h"

namespace smartmig {

inline constexpr double kNoCap = std::numeric_limits<double>::infinity();

struct PowerCaps {
  double board_w = kNoCap, fleet_w = kNoCap;
  std::uint32_t bound = 64;
  bool none() const { return board_w == kNoCap && fleet_w == kNoCap; }
};

// Marks the slice sizes on which the job would exceed a cap even alone on the idle fleet as sizes it cannot run on (in
// a mixed fleet: on every model that has the size). False: no size is left, and the job is unchanged.
bool limit_sizes(Job& job, const std::string& kind, const Platform& platform, const PowerCaps& caps);

class PowerCap : public Policy {
 public:
  PowerCap(std::unique_ptr<Policy> inner, PowerCaps caps) : inner_(std::move(inner)), caps_(caps) {}
  void decide(const Cluster& cluster, Plan& plan) override;
  std::vector<PlannedStart> planned_starts(const Cluster& cluster) const override {
    return inner_->planned_starts(cluster);
  }
  void set_caps(PowerCaps caps) { caps_ = caps; }
  const PowerCaps& caps() const { return caps_; }
  Policy& inner() { return *inner_; }

  // How often each job was held back, by a hash of its name and arrival. It survives renumbering and goes into forks.
  using Memory = std::unordered_map<std::uint64_t, std::uint32_t>;
  const Memory& memory() const { return memory_; }
  void remember(Memory memory) { memory_ = std::move(memory); }

  // At the last decision.
  bool held_back(JobId job) const;
  std::uint64_t held_back_starts() const { return held_starts_; }  // over all decisions
  // Exceeds a cap even alone on an idle fleet, on every slice it fits.
  bool never_fits(const Cluster& cluster, JobId job) const;

 private:
  struct Watts {
    double added = 0, watts = 0;
    int busy_slices = 0;
  };
  enum Obstacle { kNothing, kBoard, kFleet };
  void look(const Cluster& cluster, const Plan& plan);
  Obstacle admit(const Cluster& cluster, const Start& start);  // adds its watts if there is no obstacle
  std::uint32_t times(const Cluster& cluster, JobId job) const;
  void forget_ended(const Cluster& cluster);
  void calm_reshapes(const Cluster& cluster, Plan& plan);

  std::unique_ptr<Policy> inner_;
  PowerCaps caps_;
  std::vector<Watts> boards_;
  double fleet_w_ = 0;
  Memory memory_;
  std::vector<JobId> held_;  // at the last decision
  std::uint64_t held_starts_ = 0;
  std::vector<std::uint64_t> reshaped_at_;  // by GPU: the fleet's progress at its last reshape, plus 1
};

}  // namespace smartmig
