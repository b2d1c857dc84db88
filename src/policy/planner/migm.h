// The two schedulers of MIGM (arXiv 2508.18556) with its partition manager: every job gets the tightest slice that has
// the memory it needs, and idle slices are fused or split to make one.
//
//   migm-a  jobs are grouped by slice size: whoever finds an idle slice of its size takes it; only slices and room that
//           no waiting job can use as they are get repartitioned, for the group whose first job has waited longest and
//           for as many of its jobs as fit, so that one repartition call serves many.
//   migm-b  queue order: the next job in order gets a slice, by repartitioning if need be; nobody overtakes it.
//
// Where: mig/slice_choice.h, over all GPUs; ties go to the first of them. Running jobs are never stopped, busy slices
// never asked to go, a GPU that is changing is not asked again before it is done. Hardware costs only. The names of the
// schemes are MIGM's, their details are inferred from its abstract. A stream of one group could starve another under
// migm-a: policy/layers/bounded_overtaking.h around it prevents that.
#pragma once
#include <optional>
#include <vector>

#include "mig/slice_choice.h"
#include "sched/policy.h"

namespace smartmig {

class Migm : public Policy {
 public:
  explicit Migm(bool grouped) : grouped_(grouped) {}  // true: migm-a
  void decide(const Cluster& cluster, Plan& plan) override;

 private:
  struct Kind {  // a GPU model of the fleet
    SliceChoice choice;
    std::vector<TypeId> tightest;  // its slice types, tightest first
  };
  struct Room : SliceRoom {  // a GPU while a plan is made
    bool closed = false;
  };
  struct Offer : SliceOffer {
    GpuId gpu = kNoGpu;
  };

  void see_new_cluster(const Cluster& cluster);
  std::vector<int> wanted(const Cluster& cluster, JobId job) const;  // the tightest profile on each model; -1: none
  std::optional<Offer> best(const Cluster& cluster, const std::vector<int>& profile_of_kind,
                            SliceOffer::Means most) const;
  void take(const Offer& offer, JobId job, Plan& plan);

  bool grouped_;
  std::uint64_t identity_ = 0;
  std::vector<Kind> kinds_;  // by model of the platform
  std::vector<Room> rooms_;
};

}  // namespace smartmig
