#include "mig/fragmentation.h"

#include <algorithm>

namespace smartmig {

FragmentationTable::FragmentationTable(const GpuModel& model)
    : model_(model), reach_(model), shapes_(model, model.all_profiles()) {}

int FragmentationTable::largest_free(Layout busy) const {
  int slices = 0;
  for (std::size_t i = 0; i < model_.placements().size(); ++i)
    if ((model_.schedulable_profiles() >> model_.placements()[i].profile & 1) && model_.fits(busy, PlacementId(i)))
      slices = std::max(slices, model_.profile_of(PlacementId(i)).compute_slices);
  return slices;
}

Fragmentation FragmentationTable::of(Layout busy) const {
  Fragmentation result;
  result.packed = busy;
  std::uint32_t most = reach_.complete(busy);
  int kept = busy.size();
  for (Layout layout : shapes_.layouts_of(shape_of(model_, busy))) {
    const std::uint32_t reach = reach_.complete(layout);
    if (reach < most || (reach == most && (layout & busy).size() <= kept)) continue;
    most = reach;
    kept = (layout & busy).size();
    result.packed = layout;
  }
  result.score = 1 - double(reach_.complete(busy)) / double(most);
  result.largest_free = largest_free(busy);
  result.largest_if_packed = largest_free(result.packed);
  const Layout leave = busy - result.packed, arrive = result.packed - busy;
  for (std::size_t profile = 0; profile < model_.profiles().size(); ++profile) {
    std::vector<PlacementId> from, to;
    for (std::size_t i = 0; i < model_.placements().size(); ++i) {
      if (model_.placements()[i].profile != profile) continue;
      if (leave.contains(PlacementId(i))) from.push_back(PlacementId(i));
      if (arrive.contains(PlacementId(i))) to.push_back(PlacementId(i));
    }
    for (std::size_t i = 0; i < from.size() && i < to.size(); ++i) result.moves.emplace_back(from[i], to[i]);
  }
  return result;
}

}  // namespace smartmig
