// A Layout is a set of placements of one GpuModel, in four bytes. Invariant: the placements are pairwise disjoint and
// keep the model's instance limits. Only GpuModel makes a non-empty Layout, so an invalid one cannot be expressed. A
// reshape is set algebra: destroy from - to, create to - from, keep from & to.
#pragma once
#include <bit>
#include <compare>
#include <cstdint>

#include "base/ids.h"

namespace smartmig {

class Layout {
 public:
  constexpr Layout() = default;
  constexpr bool contains(PlacementId p) const { return bits_ >> index(p) & 1; }
  constexpr bool contains(Layout other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr int size() const { return std::popcount(bits_); }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr std::uint32_t bits() const { return bits_; }
  constexpr Layout without(PlacementId p) const { return Layout(bits_ & ~(1u << index(p))); }
  friend constexpr Layout operator-(Layout a, Layout b) { return Layout(a.bits_ & ~b.bits_); }
  friend constexpr Layout operator&(Layout a, Layout b) { return Layout(a.bits_ & b.bits_); }
  constexpr auto operator<=>(const Layout&) const = default;

  // Iterates over placements by increasing id: for (PlacementId p : layout) ...
  class Iterator {
   public:
    constexpr explicit Iterator(std::uint32_t rest) : rest_(rest) {}
    constexpr PlacementId operator*() const { return PlacementId(std::countr_zero(rest_)); }
    constexpr Iterator& operator++() {
      rest_ &= rest_ - 1;
      return *this;
    }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    std::uint32_t rest_;
  };
  constexpr Iterator begin() const { return Iterator(bits_); }
  constexpr Iterator end() const { return Iterator(0); }

 private:
  friend class GpuModel;
  constexpr explicit Layout(std::uint32_t bits) : bits_(bits) {}
  std::uint32_t bits_ = 0;
};
static_assert(sizeof(Layout) == 4);

}  // namespace smartmig
