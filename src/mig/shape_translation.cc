#include "mig/shape_translation.h"

#include <cmath>

namespace smartmig {
namespace {

// Slices of the same sizes. nullopt: `to` lacks one of them, or they do not fit together.
std::optional<Shape> same_sizes(const GpuModel& from, Shape shape, const GpuModel& to, const ShapeTable& shapes,
                                bool keep_variants) {
  Shape out;
  for (std::size_t p = 0; p < from.profiles().size(); ++p) {
    if (shape.count(int(p)) == 0) continue;
    const Variant variant = keep_variants ? from.profiles()[p].variant : Variant::kPlain;
    int found = -1;
    for (std::size_t q = 0; q < to.profiles().size() && found < 0; ++q)
      if (to.profiles()[q].compute_slices == from.profiles()[p].compute_slices && to.profiles()[q].variant == variant)
        found = int(q);
    if (found < 0 || out.count(found) + shape.count(int(p)) > 15) return std::nullopt;
    for (int i = 0; i < shape.count(int(p)); ++i) out.add(found);
  }
  if (shapes.layouts_of(out).empty()) return std::nullopt;
  return out;
}

double mean_part(const GpuModel& model, Shape shape) {
  int slices = 0, count = 0;
  for (std::size_t p = 0; p < model.profiles().size(); ++p) {
    slices += shape.count(int(p)) * model.profiles()[p].compute_slices;
    count += shape.count(int(p));
  }
  return double(slices) / double(count * model.compute_slices());
}

}  // namespace

Shape translate_shape(const GpuModel& from, Shape shape, const GpuModel& to, const ShapeTable& shapes) {
  for (const bool keep_variants : {true, false})
    if (const auto same = same_sizes(from, shape, to, shapes, keep_variants)) return *same;
  const double wanted = mean_part(from, shape);
  Shape best;
  for (const Shape candidate : shapes.maximal_shapes())
    if (best.empty() || std::abs(mean_part(to, candidate) - wanted) < std::abs(mean_part(to, best) - wanted))
      best = candidate;
  return best;
}

}  // namespace smartmig
