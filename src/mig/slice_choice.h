// Chooses the slice of a GPU to give, and what the GPU should become for it. Of all starts p of the wanted profile, it
// takes the one that leaves the most complete layouts around the taken slices (mig/slice_choice.h):
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

#include "mig/gpu_model.h"

namespace smartmig {

// Counts the complete layouts of a model that are still reachable around slices that must stay. For every valid layout
// B, this is the number of layouts that contain B, add schedulable profiles only, and have room for no further one.
// Only complete layouts count, since only they tell what the GPU can still become: a 1g at the end of an A100 leaves 33
// of 78, at the start 21, although both leave 228 layouts of all kinds. The table is built once for all B: it walks
// every complete L and adds one to each B that L extends. A decision is then a look-up (brute force: reach() in
// mig/moves.h). Immutable after construction; lookups may run in parallel.
class CompleteLayouts {
 public:
  explicit CompleteLayouts(const GpuModel& model);
  // REQUIRES: a layout of the model.
  std::uint32_t complete(Layout busy) const { return counts_[slot(busy.bits())]; }
  std::size_t size() const { return used_; }

 private:
  std::size_t slot(std::uint32_t bits) const {  // the slot of `bits`, or the free slot where it would go
    std::size_t at = (bits * 0x9E3779B1u) >> shift_;
    while (keys_[at] != bits && counts_[at] != 0) at = at + 1 == keys_.size() ? 0 : at + 1;
    return at;
  }
  std::vector<std::uint32_t> keys_, counts_;  // open addressing; a count of 0 is a free slot
  int shift_ = 0;
  std::size_t used_ = 0;
};

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
  CompleteLayouts reach_;
  std::vector<std::vector<PlacementId>> places_;  // by profile, by start
  std::vector<std::uint32_t> overlaps_;           // by placement: placements that share memory with it
};

}  // namespace smartmig
