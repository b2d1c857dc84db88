// A shape of one GPU model on another: partitions that were searched, numbered or learned on one model, used on a fleet
// that has others too.
//   1. the same sizes and variants of slices, where the other model has them ("4g.20gb+3g.20gb" is "4g.47gb+3g.47gb")
//   2. the same sizes, all plain
//   3. the maximal shape whose slices are, on average, the nearest part of their GPU (first of equals)
#pragma once
#include "mig/shape.h"

namespace smartmig {

// `shapes` are those of `to`. REQUIRES: shape is not empty.
Shape translate_shape(const GpuModel& from, Shape shape, const GpuModel& to, const ShapeTable& shapes);

}  // namespace smartmig
