// Chooses the slice of a GPU to give, and what the GPU should become for it. Of all starts p of the wanted profile, it
// takes the one that leaves the most complete layouts around the taken slices (mig/reach_table.h):
//
//   maximise  reach(taken + p) / reach(taken),
//
// by these means, in order of preference:
//   kReuse     an idle slice as it is (idle slices are kept for that)
//   kUnderWay  a slice that the GPU is about to create anyway
//   kCreate    free room
//   kMakeWay   idle slices make way: neighbours become one, or one becomes smaller ones
// Ties go to the lowest start. Exact integers, no clock, no device. Immutable after construction; may be used in
// parallel.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "mig/reach_table.h"

namespace smartmig {

struct SliceRoom {        // a GPU as the chooser sees it
  Layout ready;           // exists and stays
  Layout target;          // what the GPU is to become; contains ready
  Layout taken;           // busy or given away
  bool changing = false;  // on its way to its target: it must not be asked to change again
};

struct SliceOffer {
  enum Means : std::uint8_t { kReuse, kUnderWay, kCreate, kMakeWay } means = kReuse;
  PlacementId where = kNoPlacement;
  Layout target;  // what the GPU is to become for this slice
  std::uint32_t reach_before = 0, reach_after = 0;
};

// Compares offers of different GPUs. Neither of two equal ones is better.
bool better(const SliceOffer& a, const SliceOffer& b);

class SliceChoice {
 public:
  explicit SliceChoice(const GpuModel& model);  // keeps a reference
  // nullopt: `most` and the means before it offer no such slice.
  std::optional<SliceOffer> best(const SliceRoom& room, int profile,
                                 SliceOffer::Means most = SliceOffer::kMakeWay) const;

 private:
  std::optional<SliceOffer> offer(const SliceRoom& room, PlacementId p) const;

  const GpuModel& model_;
  ReachTable reach_;
  std::vector<std::vector<PlacementId>> places_;  // by profile, by start
  std::vector<std::uint32_t> overlaps_;           // by placement: placements that share memory with it
};

}  // namespace smartmig
