// The two schedulers of MIGM (arXiv 2508.18556) with its partition manager: every job gets the tightest slice that has
// the memory it needs, and idle slices are fused or split to make one.
//
//   migm-a  jobs are grouped by slice size: whoever finds an idle slice of its size takes it; only slices and room that
//           no waiting job can use as they are get repartitioned, for the group whose first job has waited longest and
//           for as many of its jobs as fit, so that one repartition call serves many.
//   migm-b  queue order: the next job in order gets a slice, by repartitioning if need be; nobody overtakes it.
//
// Where: among an idle slice as it is, free room, and idle slices that make way, in this order, the placement after
// which the GPU can still take most complete layouts (mig/reach_table.h), as the live partition manager does. Running
// jobs are never stopped, busy slices never asked to go, a GPU that is changing is not asked again before it is done.
// Hardware costs only. The names of the schemes are MIGM's, their details are inferred from its abstract. A stream of
// one group could starve another under migm-a: policy/bounded_overtaking.h around it prevents that.
#pragma once
#include <optional>
#include <vector>

#include "mig/reach_table.h"
#include "sched/policy.h"

namespace smartmig {

class Migm : public Policy {
 public:
  explicit Migm(bool grouped) : grouped_(grouped) {}  // true: migm-a
  void decide(const Cluster& cluster, Plan& plan) override;

 private:
  struct Kind {  // a GPU model of the fleet
    ReachTable reach;
    std::vector<std::vector<PlacementId>> places;  // by profile
    std::vector<std::uint32_t> overlaps;           // by placement: placements that share memory with it
    std::vector<TypeId> tightest;                  // its slice types, tightest first
  };
  struct Room {     // a GPU while a plan is made
    Layout ready;   // exists and stays
    Layout target;  // what it is to become
    Layout taken;   // busy, started or promised in this plan
    bool changing = false, closed = false;
  };
  enum Means : std::uint8_t { kReuse, kUnderWay, kCreate, kMakeWay };
  struct Offer {
    Means means;
    GpuId gpu;
    PlacementId where;
    Layout target;
    std::uint64_t reach_before, reach_after;
  };

  void meet(const Cluster& cluster);
  std::vector<int> wanted(const Cluster& cluster, JobId job) const;  // the tightest profile on each model; -1: none
  std::optional<Offer> best(const Cluster& cluster, const std::vector<int>& profile_of_kind, Means most) const;
  void take(const Offer& offer, JobId job, Plan& plan);

  bool grouped_;
  std::uint64_t identity_ = 0;
  std::vector<Kind> kinds_;  // by model of the platform
  std::vector<Room> rooms_;
};

}  // namespace smartmig
