// Measures what the positions of a GPU's busy slices cost: 1 - (complete layouts still reachable) / (complete layouts
// reachable if the same slices stood at their best positions). 0: no position would be better. Immutable; may be used
// in parallel.
#pragma once
#include <utility>
#include <vector>

#include "mig/shape.h"
#include "mig/slice_choice.h"

namespace smartmig {

struct Fragmentation {
  double score = 0;
  int largest_free = 0, largest_if_packed = 0;             // compute slices of the largest profile that fits
  Layout packed;                                           // the best positions for the busy slices
  std::vector<std::pair<PlacementId, PlacementId>> moves;  // moves that lead there: from, to
};

class FragmentationTable {
 public:
  explicit FragmentationTable(const GpuModel& model);  // keeps a reference
  Fragmentation of(Layout busy) const;

 private:
  int largest_free(Layout busy) const;

  const GpuModel& model_;
  CompleteLayouts reach_;
  ShapeTable shapes_;  // for all profiles
};

}  // namespace smartmig
