// A Shape is a multiset of profiles. A repartitioner asks for one ("4g+2g+1g") without saying where on the GPU.
// realise() turns it into the Layout that keeps the most busy placements running. The papers number twelve shapes of
// the 7-slice family; these numbers are accepted wherever a shape is.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mig/gpu_model.h"

namespace smartmig {

class Shape {
 public:
  constexpr Shape() = default;
  constexpr int count(int profile) const { return int(counts_ >> (4 * profile) & 15); }
  constexpr void add(int profile) { counts_ += std::uint64_t(1) << (4 * profile); }
  constexpr bool empty() const { return counts_ == 0; }
  constexpr auto operator<=>(const Shape&) const = default;

 private:
  std::uint64_t counts_ = 0;  // four bits per profile: at most 16 profiles, 15 instances each
};

Shape shape_of(const GpuModel& model, Layout layout);
std::string to_string(const GpuModel& model, Shape shape);    // large to small: "4g.20gb+2g.10gb+1g.10gb"
std::string to_string(const GpuModel& model, Layout layout);  // by increasing start: "4g.20gb@0+2g.10gb@4+1g.10gb@6"

// "3" (a paper's number), "4g+2g+1g", "4g.20gb+1g.10gb", "1g*7". Refuses shapes that fit no layout, and says why.
Result<Shape> parse_shape(const GpuModel& model, std::string_view text);
// "4g@0+2g@4+1g@6"; every profile with its start.
Result<Layout> parse_layout(const GpuModel& model, std::string_view text);

// The papers' layouts 1..12 in order, for the 7-slice family; empty for other families. Layouts 3, 4 and 9-12 end in
// the double-memory 1g.
std::vector<Shape> paper_shapes(const GpuModel& model);

// All shapes of a model over a set of profiles, with the layouts of each. Read-only after construction.
class ShapeTable {
 public:
  ShapeTable(const GpuModel& model, ProfileMask profiles);
  const GpuModel& model() const { return *model_; }
  const std::vector<Shape>& shapes() const { return shapes_; }  // in increasing order
  std::vector<Shape> maximal_shapes() const;                    // the shapes of maximal layouts
  std::vector<Layout> layouts_of(Shape shape) const;            // by increasing bits; empty if the shape is invalid

  // The layout of this shape that keeps the most placements of `busy`. Ties go to the one that keeps the most of
  // `current`, then to the lowest bits. nullopt: the shape is invalid for the model.
  std::optional<Layout> realise(Shape shape, Layout current, Layout busy) const;

 private:
  const GpuModel* model_;
  std::vector<Shape> shapes_;
  std::vector<std::uint32_t> first_;  // layouts of shapes_[i] are layouts_[first_[i] .. first_[i + 1])
  std::vector<Layout> layouts_;
};

}  // namespace smartmig
