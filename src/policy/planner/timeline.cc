#include "policy/planner/timeline.h"

#include <algorithm>
#include <bit>

#include "model/reconfig.h"

namespace smartmig {

PlacementTable::PlacementTable(const Platform::Model& model) : first_type(model.first_type) {
  const GpuModel& gpu = *model.gpu;
  const std::size_t placements = gpu.placements().size();
  conflicts.resize(placements);
  of_type.resize(gpu.profiles().size());
  type = model.type_of_placement;
  slices = model.slices_of_placement;
  create.resize(placements);
  destroy.resize(placements);
  int least = 0;
  for (std::size_t p = 0; p < placements; ++p) {
    const Layout alone = *gpu.with(Layout{}, PlacementId(p));
    conflicts[p] = 1u << p;
    for (std::size_t q = 0; q < placements; ++q)
      if (!gpu.fits(alone, PlacementId(q))) conflicts[p] |= 1u << q;
    const int profile = gpu.placement(PlacementId(p)).profile;
    const ReconfigTime times = reconfig_time(gpu, profile);
    create[p] = times.create;
    destroy[p] = times.destroy;
    if (gpu.schedulable_profiles() >> profile & 1) offered |= 1u << p;
    if (type[p] != kNoType && (least == 0 || slices[p] < least)) least = slices[p], slots = 0;
    if (type[p] != kNoType && slices[p] == least &&
        (slots == 0 || type[p] == type[std::size_t(std::countr_zero(slots))]))
      slots |= 1u << p;
    if ((slots >> p & 1) != 0) slot_room = model.room_of(PlacementId(p));
    if (type[p] != kNoType) of_type[std::size_t(index(type[p])) - std::size_t(first_type)] |= 1u << p;
  }
}

void GpuTimeline::clear(Time now) {
  cells_.clear();
  cells_.push_back({now, 0, 0});
}

std::size_t GpuTimeline::cut(Time at) {
  std::size_t i = cells_.size();
  while (cells_[i - 1].at > at) --i;
  if (cells_[i - 1].at == at) return i - 1;
  Cell cell = cells_[i - 1];
  cell.at = at;
  cells_.insert(cells_.begin() + std::ptrdiff_t(i), cell);
  return i;
}

void GpuTimeline::take(const PlacementTable& table, PlacementId where, Time begin, Time end) {
  if (begin >= end) return;
  const std::size_t first = cut(begin), last = cut(end);
  for (std::size_t i = first; i < last; ++i) {
    cells_[i].blocked |= table.conflicts[index(where)];
    cells_[i].busy_slices += table.slices[index(where)];
  }
}

Time GpuTimeline::first_fit(PlacementId where, Time from, Time length) const {
  const std::uint32_t bit = 1u << index(where);
  Time start = from;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const bool last = i + 1 == cells_.size();
    if (!last && cells_[i + 1].at <= start) continue;
    if (cells_[i].at >= start + length) return start;
    if (cells_[i].blocked & bit) {
      if (last) return kNever;
      start = cells_[i + 1].at;
    }
  }
  return start;
}

std::uint32_t GpuTimeline::blocked_at(Time at) const {
  std::size_t i = cells_.size() - 1;
  while (i > 0 && cells_[i].at > at) --i;
  return cells_[i].blocked;
}

double GpuTimeline::idle_before(std::uint32_t slots, Time at) const {
  std::size_t i = cells_.size();
  while (i > 0 && cells_[i - 1].at >= at) --i;
  double idle = 0;
  for (Time until = at; i > 0; until = cells_[--i].at) {
    slots &= ~cells_[i - 1].blocked;
    if (slots == 0) break;
    idle += std::popcount(slots) * minutes(until - cells_[i - 1].at);
  }
  return idle;
}

double GpuTimeline::added_energy(const PowerModel& power, int slices, double added, Time begin, Time end) const {
  double sum = 0;
  const int most = power.is_table() ? int(power.table().size()) - 1 : 0;
  for (std::size_t i = 0; i < cells_.size() && cells_[i].at < end; ++i) {
    const Time until = i + 1 == cells_.size() ? end : std::min(end, cells_[i + 1].at);
    const Time since = std::max(begin, cells_[i].at);
    if (until <= since) continue;
    const int busy = cells_[i].busy_slices;
    double watts;
    if (power.is_table())
      watts = power.watts(std::min(most, busy + slices), 0) - power.watts(std::min(most, busy), 0);
    else
      watts = added + (busy == 0 ? power.watts(1, 0) - power.idle() : 0);
    sum += watts * double((until - since).count());
  }
  return sum;
}

}  // namespace smartmig
