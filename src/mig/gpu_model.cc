#include "mig/gpu_model.h"

#include <algorithm>
#include <set>

namespace smartmig {

Result<GpuModel> GpuModel::make(GpuModelSpec spec) {
  const std::string& name = spec.name;
  if (name.empty()) return invalid("a GPU model needs a name");
  if (spec.memory_slices < 1 || spec.memory_slices > 32)
    return invalid("GPU model {}: {} memory slices, 1 to 32 are possible", name, spec.memory_slices);
  if (spec.compute_slices < 1 || spec.compute_slices > 32)
    return invalid("GPU model {}: {} compute slices, 1 to 32 are possible", name, spec.compute_slices);
  if (spec.profiles.empty()) return invalid("GPU model {} has no profiles", name);
  std::set<std::string> names;
  std::size_t placements = 0;
  for (const Profile& p : spec.profiles) {
    if (p.name.empty() || !names.insert(p.name).second)
      return invalid("GPU model {}: profile name '{}' is empty or given twice", name, p.name);
    if (p.compute_slices < 1 || p.compute_slices > spec.compute_slices)
      return invalid("GPU model {}, profile {}: {} compute slices on a GPU of {}", name, p.name, p.compute_slices,
                     spec.compute_slices);
    if (p.memory_slices < 1 || p.memory_slices > spec.memory_slices)
      return invalid("GPU model {}, profile {}: {} memory slices on a GPU of {}", name, p.name, p.memory_slices,
                     spec.memory_slices);
    if (p.max_instances < 1)
      return invalid("GPU model {}, profile {}: at least one instance must be possible", name, p.name);
    if (p.starts.empty()) return invalid("GPU model {}, profile {}: its placements are not known", name, p.name);
    if (!std::is_sorted(p.starts.begin(), p.starts.end(), std::less_equal<>()) && p.starts.size() > 1)
      return invalid("GPU model {}, profile {}: starts must be increasing", name, p.name);
    if (p.starts.front() < 0 || p.starts.back() + p.memory_slices > spec.memory_slices)
      return invalid("GPU model {}, profile {}: start {} does not fit on {} memory slices", name, p.name,
                     p.starts.back(), spec.memory_slices);
    if (std::min(p.starts.size(), std::size_t(p.max_instances)) > 15)  // a Shape stores each count in four bits
      return invalid("GPU model {}, profile {}: more than 15 instances at once are not handled", name, p.name);
    placements += p.starts.size();
  }
  if (spec.profiles.size() > 16)
    return invalid("GPU model {}: {} profiles, at most 16 are handled", name, spec.profiles.size());
  if (placements > 32) return invalid("GPU model {}: {} placements, at most 32 are handled", name, placements);
  return GpuModel(std::move(spec));
}

GpuModel::GpuModel(GpuModelSpec spec) : spec_(std::move(spec)) {
  for (std::size_t i = 0; i < spec_.profiles.size(); ++i)
    for (int start : spec_.profiles[i].starts) {
      const std::uint32_t run = std::uint32_t((std::uint64_t(1) << spec_.profiles[i].memory_slices) - 1);
      placements_.push_back({std::uint8_t(i), std::uint8_t(start), run << start});
    }
  const auto may_stand_together = [&](const Placement& a, const Placement& b) {
    if (a.mask & b.mask) return false;
    const Variant va = spec_.profiles[a.profile].variant, vb = spec_.profiles[b.profile].variant;
    if (va == Variant::kMedia && vb == Variant::kMedia) return false;  // one media engine set per GPU
    if (va == Variant::kAllMedia) return vb == Variant::kNoMedia;
    if (vb == Variant::kAllMedia) return va == Variant::kNoMedia;
    return true;
  };
  for (const Placement& a : placements_) {
    std::uint32_t conflicts = 0, siblings = 0;
    for (std::size_t j = 0; j < placements_.size(); ++j) {
      const Placement& b = placements_[j];
      if (!may_stand_together(a, b)) conflicts |= 1u << j;
      if (a.profile == b.profile) siblings |= 1u << j;
    }
    conflicts_.push_back(conflicts);
    siblings_.push_back(siblings);
  }
}

int GpuModel::find_profile(std::string_view name) const {
  for (std::size_t i = 0; i < spec_.profiles.size(); ++i) {
    const Profile& p = spec_.profiles[i];
    if (p.name == name) return int(i);
    if (p.variant == Variant::kPlain && p.name.substr(0, p.name.find('.')) == name) return int(i);
  }
  return -1;
}

PlacementId GpuModel::find_placement(int profile, int start) const {
  for (std::size_t i = 0; i < placements_.size(); ++i)
    if (placements_[i].profile == profile && placements_[i].start == start) return PlacementId(i);
  return kNoPlacement;
}

ProfileMask GpuModel::mask_of(Variant variant) const {
  ProfileMask mask = 0;
  for (std::size_t i = 0; i < spec_.profiles.size(); ++i)
    if (spec_.profiles[i].variant == variant) mask |= ProfileMask(1) << i;
  return mask;
}

bool GpuModel::fits(Layout layout, PlacementId p) const {
  const std::size_t i = index(p);
  return (layout.bits() & conflicts_[i]) == 0 &&
         std::popcount(layout.bits() & siblings_[i]) < spec_.profiles[placements_[i].profile].max_instances;
}

std::optional<Layout> GpuModel::with(Layout layout, PlacementId p) const {
  if (!fits(layout, p)) return std::nullopt;
  return Layout(layout.bits() | 1u << index(p));
}

std::optional<Layout> GpuModel::layout_of(std::span<const PlacementId> placements) const {
  std::optional<Layout> layout = Layout{};
  for (PlacementId p : placements)
    if (index(p) >= placements_.size() || !(layout = with(*layout, p))) return std::nullopt;
  return layout;
}

std::vector<Layout> GpuModel::layouts(ProfileMask profiles) const {
  std::vector<Layout> all;
  const auto extend = [&](auto& self, Layout layout, std::size_t from) -> void {
    all.push_back(layout);
    for (std::size_t i = from; i < placements_.size(); ++i)
      if (profiles >> placements_[i].profile & 1)
        if (const auto next = with(layout, PlacementId(i))) self(self, *next, i + 1);
  };
  extend(extend, Layout{}, 0);
  std::sort(all.begin(), all.end());
  return all;
}

bool GpuModel::maximal(Layout layout, ProfileMask profiles) const {
  for (std::size_t i = 0; i < placements_.size(); ++i)
    if ((profiles >> placements_[i].profile & 1) && fits(layout, PlacementId(i))) return false;
  return true;
}

int GpuModel::compute_used(Layout layout) const {
  int used = 0;
  for (PlacementId p : layout) used += profile_of(p).compute_slices;
  return used;
}

std::uint32_t GpuModel::memory_mask(Layout layout) const {
  std::uint32_t mask = 0;
  for (PlacementId p : layout) mask |= placements_[index(p)].mask;
  return mask;
}

}  // namespace smartmig
