// Slices on which only dead processes hold memory are out of service (slice_quarantine.h) until the memory is free, or
// the slice is gone (a reset). Thread rule: the owner's.
#pragma once
#include <map>
#include <set>

#include "serve/gpus/slice_quarantine.h"

namespace smartmig {

class DeadMemory {
 public:
  explicit DeadMemory(SliceQuarantine& quarantine) : quarantine_(quarantine) {}

  // After a sample of this board. `in_use`: whose processes are on a slice, or about to be, is known.
  void look(int gpu, BoardState& state, const std::function<bool(SliceKey)>& in_use);

 private:
  struct Held {
    int mib = 0;
    std::uint32_t pid = 0;  // one of them
  };
  SliceQuarantine& quarantine_;
  std::map<SliceKey, int> seen_;  // samples in a row
  std::set<SliceKey> held_;       // out of service for this
};

}  // namespace smartmig
