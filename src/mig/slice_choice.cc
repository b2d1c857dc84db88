#include "mig/slice_choice.h"

#include <bit>

namespace smartmig {

CompleteLayouts::CompleteLayouts(const GpuModel& model) {
  const std::vector<Layout> all = model.layouts(model.all_profiles());
  const std::size_t slots = std::bit_ceil(all.size() * 2 + 1);
  shift_ = 32 - std::countr_zero(slots);
  keys_.assign(slots, 0);
  counts_.assign(slots, 0);
  std::uint32_t schedulable = 0;
  for (std::size_t i = 0; i < model.placements().size(); ++i)
    if (model.schedulable_profiles() >> model.placements()[i].profile & 1) schedulable |= 1u << i;
  for (Layout layout : all) {
    if (!model.maximal(layout, model.schedulable_profiles())) continue;
    const std::uint32_t added = layout.bits() & schedulable, fixed = layout.bits() & ~schedulable;
    std::uint32_t kept = added;
    for (;;) {
      const std::size_t at = slot(fixed | kept);
      used_ += counts_[at] == 0;
      keys_[at] = fixed | kept;
      ++counts_[at];
      if (kept == 0) break;
      kept = (kept - 1) & added;
    }
  }
  SMARTMIG_CHECK(used_ == all.size(), "{} of {} layouts counted", used_, all.size());
}

bool better(const SliceOffer& a, const SliceOffer& b) {
  if (a.means != b.means) return a.means < b.means;
  return std::uint64_t(a.reach_after) * b.reach_before > std::uint64_t(b.reach_after) * a.reach_before;
}

SliceChoice::SliceChoice(const GpuModel& model) : model_(model), reach_(model), places_(model.profiles().size()) {
  for (std::size_t i = 0; i < model.placements().size(); ++i) {
    places_[model.placements()[i].profile].push_back(PlacementId(i));
    std::uint32_t overlaps = 0;
    for (std::size_t j = 0; j < model.placements().size(); ++j)
      if (model.placements()[j].mask & model.placements()[i].mask) overlaps |= 1u << j;
    overlaps_.push_back(overlaps);
  }
}

std::optional<SliceOffer> SliceChoice::offer(const SliceRoom& room, PlacementId p) const {
  if (room.taken.contains(p)) return std::nullopt;
  const auto with = model_.with(room.taken, p);
  if (!with) return std::nullopt;
  SliceOffer offer{SliceOffer::kReuse, p, room.target, reach_.complete(room.taken), reach_.complete(*with)};
  if (room.target.contains(p)) {
    if (!room.ready.contains(p)) offer.means = SliceOffer::kUnderWay;
    return offer;
  }
  if (room.changing) return std::nullopt;
  const Layout in_the_way = model_.subset(room.target, overlaps_[index(p)]);
  auto after = model_.with(room.target - in_the_way, p);
  if (!after) {  // idle slices elsewhere use up this profile's max_instances: keep the idle ones that still fit
    after = with;
    for (const PlacementId idle : room.target - room.taken)
      if (const auto more = model_.with(*after, idle)) after = more;
  }
  offer.means = in_the_way.empty() ? SliceOffer::kCreate : SliceOffer::kMakeWay;
  offer.target = *after;
  return offer;
}

std::optional<SliceOffer> SliceChoice::best(const SliceRoom& room, int profile, SliceOffer::Means most) const {
  std::optional<SliceOffer> best;
  for (const PlacementId p : places_[std::size_t(profile)])
    if (const auto one = offer(room, p); one && one->means <= most && (!best || better(*one, *best))) best = one;
  return best;
}

}  // namespace smartmig
