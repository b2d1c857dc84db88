// A policy has two halves: one puts jobs on slices, the other chooses layouts. Any repartitioner works with any placer.
// PairPolicy joins them into a Policy; "static+cedf" names a pair.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sched/policy.h"

namespace smartmig {

// The slices that a placer may use at this decision, per GPU: under paper costs the layout that the plan asks for,
// under hardware costs the slices that exist and stay. `version` changes whenever one of them does.
struct UsableSlices {
  std::vector<Layout> layout;
  std::uint64_t version = 0;
};

class Placer {
 public:
  virtual ~Placer() = default;
  // Writes stops and starts into the plan. Under paper costs it places every unfinished job again and writes the
  // difference. Under hardware costs it puts waiting jobs on free slices and stops nothing.
  virtual void place(const Cluster& cluster, const UsableSlices& usable, Plan& plan) = 0;
};

class Repartitioner {
 public:
  virtual ~Repartitioner() = default;
  // Each GPU's shape at time 0.
  virtual std::vector<Shape> initial() const = 0;
  // Appends the GPUs whose shape should change, with the new shape.
  virtual void retarget(const Cluster& cluster, std::vector<std::pair<GpuId, Shape>>& wanted) = 0;
};

class PairPolicy : public Policy {
 public:
  PairPolicy(std::unique_ptr<Repartitioner> repartitioner, std::unique_ptr<Placer> placer)
      : repartitioner_(std::move(repartitioner)), placer_(std::move(placer)) {}
  void decide(const Cluster& cluster, Plan& plan) override;
  const Repartitioner& repartitioner() const { return *repartitioner_; }

 private:
  std::unique_ptr<Repartitioner> repartitioner_;
  std::unique_ptr<Placer> placer_;
  std::vector<std::pair<GpuId, Shape>> wanted_;
  UsableSlices usable_;
  std::uint64_t identity_ = 0, expected_decision_ = 0;  // of the cluster to which usable_ refers
};

}  // namespace smartmig
