// Translates a shape of one GPU model to another: partitions that were searched, numbered or learned on one model serve
// a fleet that also has others. In order of preference:
//   1. the same sizes and variants of slices, where the other model has them ("4g.20gb+3g.20gb" is "4g.47gb+3g.47gb")
//   2. the same sizes, all plain
//   3. the maximal shape whose slices are, on average, nearest as fractions of their GPU (ties: the first)
#pragma once
#include "mig/shape.h"

namespace smartmig {

// `shapes` are the shapes of `to`. REQUIRES: shape is not empty.
Shape translate_shape(const GpuModel& from, Shape shape, const GpuModel& to, const ShapeTable& shapes);

}  // namespace smartmig
