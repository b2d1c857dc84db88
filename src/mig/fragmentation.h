// How much the places of a GPU's busy slices cost: one minus the complete layouts that they leave reachable over those
// that they would leave if they stood best. 0: nothing could stand better. Immutable; may be used in parallel.
#pragma once
#include <utility>
#include <vector>

#include "mig/reach_table.h"
#include "mig/shape.h"

namespace smartmig {

struct Fragmentation {
  double score = 0;
  int largest_free = 0, largest_if_packed = 0;             // compute slices of the largest profile that still fits
  Layout packed;                                           // the best place for the busy slices
  std::vector<std::pair<PlacementId, PlacementId>> moves;  // what would heal it: from, to
};

class FragmentationTable {
 public:
  explicit FragmentationTable(const GpuModel& model);  // keeps a reference
  Fragmentation of(Layout busy) const;

 private:
  int largest_free(Layout busy) const;

  const GpuModel& model_;
  ReachTable reach_;
  ShapeTable shapes_;  // of all profiles
};

}  // namespace smartmig
