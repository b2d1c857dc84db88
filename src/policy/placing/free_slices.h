// The free slices of a fleet by type. It finds the first one of a type in scan order (GPUs by mean slice size, slices
// small to large within a GPU). A rule that takes slices in that order asks once per type instead of scanning the GPUs.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "model/platform.h"

namespace smartmig {

struct Slot {
  GpuId gpu = kNoGpu;
  PlacementId where = kNoPlacement;
  bool none() const { return gpu == kNoGpu; }
  bool operator==(const Slot&) const = default;
};

class FreeSlices {
 public:
  struct First {
    std::uint32_t scan = UINT32_MAX;  // its number in scan order; UINT32_MAX: none is free
    Slot slot;
  };

  // Numbers the slices of the layouts. `small_to_large`: placements by model.
  void number(const Platform& platform, std::span<const Layout> layouts, std::span<const std::uint32_t> gpu_order,
              std::span<const std::vector<PlacementId>> small_to_large);
  void free_all();
  void take(Slot slot);
  void release(Slot slot);
  const std::vector<TypeId>& types() const { return types_; }  // the types that the layouts contain
  First first(TypeId type) const;

 private:
  struct OfType {
    std::vector<First> slices;           // in scan order
    std::vector<std::uint64_t> free;     // one bit per slice
    mutable std::size_t first_word = 0;  // all earlier words of `free` are 0
  };
  struct Place {
    std::uint32_t type, rank;
  };
  const Place& place(Slot slot) const { return places_[index(slot.gpu) * 32 + index(slot.where)]; }

  std::vector<TypeId> types_;
  std::vector<OfType> of_type_;  // by type
  std::vector<Place> places_;    // [gpu][placement]
};

}  // namespace smartmig
