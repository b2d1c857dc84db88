// How many complete layouts of a model can still be reached around slices that must stay: for every valid layout B, the
// number of layouts that contain B, add schedulable profiles only, and have room for no further one. Complete ones
// alone are counted, since only they say what the GPU can still become: a 1g at the end of an A100 leaves 33 of 78, at
// the start 21, although both leave 228 layouts of all kinds. Counted once for all B by walking every complete L and
// adding one to each B that L extends, so a decision is a look-up (brute force: mig/moves.h reach()). Immutable after
// construction; lookups may run in parallel.
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
  std::size_t slot(std::uint32_t bits) const {  // of `bits`, or the free slot where it would go
    std::size_t at = (bits * 0x9E3779B1u) >> shift_;
    while (keys_[at] != bits && counts_[at] != 0) at = at + 1 == keys_.size() ? 0 : at + 1;
    return at;
  }
  std::vector<std::uint32_t> keys_, counts_;  // open addressing; a count of 0 is a free slot
  int shift_ = 0;
  std::size_t used_ = 0;
};

}  // namespace smartmig
