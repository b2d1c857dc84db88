#include "mig/moves.h"

#include <algorithm>

#include "mig/shape.h"

namespace smartmig {
namespace {

std::vector<PlacementId> by_start(const GpuModel& model, Layout layout) {
  std::vector<PlacementId> order;
  for (PlacementId p : layout) order.push_back(p);
  std::sort(order.begin(), order.end(),
            [&](PlacementId a, PlacementId b) { return model.placement(a).start < model.placement(b).start; });
  return order;
}

template <class Visit>
void for_each_extension(const GpuModel& model, Layout layout, ProfileMask profiles, std::size_t from,
                        const Visit& visit) {
  visit(layout);
  for (std::size_t i = from; i < model.placements().size(); ++i)
    if (profiles >> model.placements()[i].profile & 1)
      if (const auto next = model.with(layout, PlacementId(i)))
        for_each_extension(model, *next, profiles, i + 1, visit);
}

}  // namespace

std::vector<Operation> operations(const GpuModel& model, const Move& move) {
  std::vector<Operation> list;
  for (PlacementId p : by_start(model, move.destroy)) list.push_back({Operation::kDestroy, p});
  for (PlacementId p : by_start(model, move.create)) list.push_back({Operation::kCreate, p});
  return list;
}

Reach reach(const GpuModel& model, Layout busy, ProfileMask profiles) {
  Reach reach;
  std::vector<Shape> shapes;
  for_each_extension(model, busy, profiles, 0, [&](Layout layout) {
    ++reach.layouts;
    reach.maximal += model.maximal(layout, profiles);
    shapes.push_back(shape_of(model, layout));
  });
  std::sort(shapes.begin(), shapes.end());
  reach.shapes = int(std::unique(shapes.begin(), shapes.end()) - shapes.begin());
  return reach;
}

std::optional<PlacementId> best_placement(const GpuModel& model, Layout layout, int profile, ProfileMask profiles) {
  std::optional<PlacementId> best;
  int most = -1;
  for (std::size_t i = 0; i < model.placements().size(); ++i) {  // those of one profile come by increasing start
    if (model.placements()[i].profile != profile) continue;
    const auto next = model.with(layout, PlacementId(i));
    if (!next) continue;
    int count = 0;
    for_each_extension(model, *next, profiles, 0, [&](Layout) { ++count; });
    if (count > most) {
      most = count;
      best = PlacementId(i);
    }
  }
  return best;
}

}  // namespace smartmig
