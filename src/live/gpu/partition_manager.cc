#include "live/gpu/partition_manager.h"

#include <algorithm>

#include "live/gpu/driver.h"
#include "live/gpu/reshape.h"
#include "model/reconfig.h"

namespace smartmig {

PartitionManager::PartitionManager(std::vector<std::shared_ptr<const GpuModel>> gpus) {
  for (const auto& model : gpus) {
    std::size_t k = 0;
    while (k < kinds_.size() && kinds_[k].model != model) ++k;
    if (k == kinds_.size()) {
      Kind kind{model, ReachTable(*model), ShapeTable(*model, model->all_profiles()), {}, {}, {}, {}};
      kind.places.resize(model->profiles().size());
      for (std::size_t i = 0; i < model->placements().size(); ++i) {
        const Placement& p = model->placements()[i];
        kind.places[p.profile].push_back(PlacementId(i));
        const ReconfigTime time = reconfig_time(*model, p.profile);
        kind.create.push_back(time.create);
        kind.destroy.push_back(time.destroy);
        std::uint32_t overlaps = 0;
        for (std::size_t j = 0; j < model->placements().size(); ++j)
          if (model->placements()[j].mask & p.mask) overlaps |= 1u << j;
        kind.overlaps.push_back(overlaps);
      }
      kinds_.push_back(std::move(kind));
    }
    gpus_.push_back({k, {}, {}, false});
  }
}

void PartitionManager::set(GpuId gpu, Layout layout, Layout busy) {
  SMARTMIG_CHECK(layout.contains(busy), "busy slices that do not exist on GPU {}", index(gpu));
  gpus_[index(gpu)].layout = layout;
  gpus_[index(gpu)].busy = busy;
}

void PartitionManager::block(GpuId gpu, bool blocked) { gpus_[index(gpu)].blocked = blocked; }

void PartitionManager::consider(GpuId id, PlacementId p, std::optional<SliceOffer>& best) const {
  const Gpu& gpu = gpus_[index(id)];
  const Kind& kind = kinds_[gpu.kind];
  if (gpu.busy.contains(p)) return;
  const auto with = kind.model->with(gpu.busy, p);
  if (!with) return;
  SliceOffer offer;
  offer.gpu = id;
  offer.placement = p;
  if (!gpu.layout.contains(p)) {
    const Layout in_the_way = kind.model->subset(gpu.layout, kind.overlaps[index(p)]);
    const auto after = kind.model->with(gpu.layout - in_the_way, p);
    if (!after) return;
    offer.move = move_between(gpu.layout, *after);
    offer.predicted = kind.create[index(p)];
    int larger = 0;
    for (PlacementId d : in_the_way) {
      offer.predicted += kind.destroy[index(d)];
      larger += kind.model->profile_of(d).memory_slices > kind.model->profile_of(p).memory_slices;
    }
    offer.means = in_the_way.empty() ? SliceOffer::kCreate : larger > 0 ? SliceOffer::kFission : SliceOffer::kFusion;
  }
  offer.reach_before = kind.reach.complete(gpu.busy);
  offer.reach_after = kind.reach.complete(*with);
  if (best) {
    const int means = std::min<int>(offer.means, SliceOffer::kFission),
              known = std::min<int>(best->means, SliceOffer::kFission);
    if (means != known) {
      if (means > known) return;
    } else {
      const std::uint64_t mine = std::uint64_t(offer.reach_after) * best->reach_before,
                          theirs = std::uint64_t(best->reach_after) * offer.reach_before;
      if (mine < theirs || (mine == theirs && offer.predicted >= best->predicted)) return;
    }
  }
  best = offer;
}

std::optional<SliceOffer> PartitionManager::choose(std::span<const int> profile_of_kind) const {
  SMARTMIG_CHECK(profile_of_kind.size() == kinds_.size(), "one profile for each of {} models", kinds_.size());
  std::optional<SliceOffer> best;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const int profile = profile_of_kind[gpus_[i].kind];
    if (profile < 0 || gpus_[i].blocked) continue;
    for (PlacementId p : kinds_[gpus_[i].kind].places[std::size_t(profile)]) consider(GpuId(i), p, best);
  }
  return best;
}

std::optional<SliceOffer> PartitionManager::choose(std::string_view profile) const {
  std::vector<int> wanted;
  for (const Kind& kind : kinds_) wanted.push_back(kind.model->find_profile(profile));
  return choose(wanted);
}

std::optional<SliceOffer> PartitionManager::fuse(GpuId gpu, int profile) const {
  std::optional<SliceOffer> best;
  const Kind& kind = kinds_[gpus_[index(gpu)].kind];
  for (PlacementId p : kind.places[std::size_t(profile)]) {
    std::optional<SliceOffer> one;
    consider(gpu, p, one);
    if (one && one->means == SliceOffer::kFusion) consider(gpu, p, best);
  }
  return best;
}

Result<Move> PartitionManager::split(GpuId id, PlacementId idle, Shape parts) const {
  const Gpu& gpu = gpus_[index(id)];
  const Kind& kind = kinds_[gpu.kind];
  const GpuModel& m = *kind.model;
  if (!gpu.layout.contains(idle)) return not_found("GPU {} has no {}", index(id), slice_name(m, idle));
  if (gpu.busy.contains(idle)) return busy_error("GPU {}: {} is busy", index(id), slice_name(m, idle));
  const Layout rest = gpu.layout.without(idle);
  for (Layout candidate : kind.shapes.layouts_of(parts)) {
    if (m.memory_mask(candidate) & ~m.placement(idle).mask) continue;
    std::optional<Layout> after = rest;
    for (PlacementId p : candidate)
      if (after) after = m.with(*after, p);
    if (after) return move_between(gpu.layout, *after);
  }
  return invalid("GPU {}: {} cannot be split into {}", index(id), slice_name(m, idle), to_string(m, parts));
}

Fragmentation PartitionManager::fragmentation(GpuId id) const {
  const Gpu& gpu = gpus_[index(id)];
  const Kind& kind = kinds_[gpu.kind];
  const GpuModel& m = *kind.model;
  const auto largest = [&](Layout busy) {
    int slices = 0;
    for (std::size_t i = 0; i < m.placements().size(); ++i)
      if ((m.schedulable_profiles() >> m.placements()[i].profile & 1) && m.fits(busy, PlacementId(i)))
        slices = std::max(slices, m.profile_of(PlacementId(i)).compute_slices);
    return slices;
  };
  Fragmentation result;
  result.packed = gpu.busy;
  std::uint32_t most = kind.reach.complete(gpu.busy);
  int kept = gpu.busy.size();
  for (Layout layout : kind.shapes.layouts_of(shape_of(m, gpu.busy))) {
    const std::uint32_t reach = kind.reach.complete(layout);
    if (reach < most || (reach == most && (layout & gpu.busy).size() <= kept)) continue;
    most = reach;
    kept = (layout & gpu.busy).size();
    result.packed = layout;
  }
  result.score = 1 - double(kind.reach.complete(gpu.busy)) / double(most);
  result.largest_free = largest(gpu.busy);
  result.largest_if_packed = largest(result.packed);
  const Layout leave = gpu.busy - result.packed, arrive = result.packed - gpu.busy;
  for (const auto& places : kind.places) {
    std::vector<PlacementId> from, to;
    for (PlacementId p : places) {
      if (leave.contains(p)) from.push_back(p);
      if (arrive.contains(p)) to.push_back(p);
    }
    for (std::size_t i = 0; i < from.size() && i < to.size(); ++i) result.moves.emplace_back(from[i], to[i]);
  }
  return result;
}

}  // namespace smartmig
