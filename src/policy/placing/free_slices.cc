#include "policy/placing/free_slices.h"

#include <algorithm>
#include <bit>

namespace smartmig {

void FreeSlices::number(const Platform& platform, std::span<const Layout> layouts,
                        std::span<const std::uint32_t> gpu_order,
                        std::span<const std::vector<PlacementId>> small_to_large) {
  types_.clear();
  of_type_.assign(platform.types().size(), {});
  places_.assign(layouts.size() * 32, {});
  std::uint32_t scan = 0;
  for (const std::uint32_t g : gpu_order)
    for (const PlacementId p : small_to_large[std::size_t(platform.model_index(GpuId(g)))]) {
      if (!layouts[g].contains(p)) continue;
      const TypeId type = platform.type_of(GpuId(g), p);
      OfType& of = of_type_[index(type)];
      if (of.slices.empty()) types_.push_back(type);
      places_[g * 32 + index(p)] = {std::uint32_t(index(type)), std::uint32_t(of.slices.size())};
      of.slices.push_back({scan++, {GpuId(g), p}});
    }
}

void FreeSlices::free_all() {
  for (const TypeId type : types_) {
    OfType& of = of_type_[index(type)];
    of.free.assign((of.slices.size() + 63) / 64, ~std::uint64_t(0));
    if (of.slices.size() % 64 != 0) of.free.back() = (std::uint64_t(1) << (of.slices.size() % 64)) - 1;
    of.first_word = 0;
  }
}

void FreeSlices::take(Slot slot) {
  const Place& at = place(slot);
  of_type_[at.type].free[at.rank / 64] &= ~(std::uint64_t(1) << (at.rank % 64));
}

void FreeSlices::release(Slot slot) {
  const Place& at = place(slot);
  OfType& of = of_type_[at.type];
  of.free[at.rank / 64] |= std::uint64_t(1) << (at.rank % 64);
  of.first_word = std::min(of.first_word, std::size_t(at.rank / 64));
}

FreeSlices::First FreeSlices::first(TypeId type) const {
  const OfType& of = of_type_[index(type)];
  for (; of.first_word < of.free.size(); ++of.first_word)
    if (const std::uint64_t word = of.free[of.first_word]; word != 0)
      return of.slices[of.first_word * 64 + std::size_t(std::countr_zero(word))];
  return {};
}

}  // namespace smartmig
