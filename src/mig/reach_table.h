// Counts the complete layouts of a model that are still reachable around slices that must stay. For every valid layout
// B, this is the number of layouts that contain B, add schedulable profiles only, and have room for no further one.
// Only complete layouts count, since only they tell what the GPU can still become: a 1g at the end of an A100 leaves 33
// of 78, at the start 21, although both leave 228 layouts of all kinds. The table is built once for all B: it walks
// every complete L and adds one to each B that L extends. A decision is then a look-up (brute force: reach() in
// mig/moves.h). Immutable after construction; lookups may run in parallel.
#pragma once
#include <cstdint>
#include <vector>

#include "mig/gpu_model.h"

namespace smartmig {

class ReachTable {
 public:
  explicit ReachTable(const GpuModel& model);
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

}  // namespace smartmig
