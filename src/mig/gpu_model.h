// The MIG geometry of one GPU product. A GPU is an axis of memory slices. A profile may be placed at given starts, and
// then owns a contiguous run of that axis. A set of placements is valid iff
//   - the runs are disjoint,
//   - no profile exceeds its max_instances,
//   - at most one media (+me) instance exists,
//   - an all-media (+me.all) instance coexists only with no-media (-me) ones.
// Immutable after make(). Units: MiB, counts.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "mig/layout.h"

namespace smartmig {

// The kind of a profile, apart from its size. Schedulers use the first three; only soft slices have kHalfMemory
// (soft_model.h). The others exist for the media engines.
enum class Variant : std::uint8_t { kPlain, kDoubleMemory, kHalfMemory, kMedia, kGraphics, kAllMedia, kNoMedia };

struct Profile {
  std::string name;    // "3g.20gb"; unique within its model only
  int nvml_id = -1;    // the profileId of NVML calls; -1: unknown
  int nvml_enum = -1;  // the constant of nvmlDeviceGetGpuInstanceProfileInfo
  int compute_slices = 0;
  int memory_slices = 0;  // length on the placement axis
  int sms = 0;            // 0: unknown
  int memory_mib = 0;     // 0: unknown
  int max_instances = 0;
  Variant variant = Variant::kPlain;
  std::vector<int> starts;
};

struct Placement {
  std::uint8_t profile = 0, start = 0;
  std::uint32_t mask = 0;  // memory slices owned
};

using ProfileMask = std::uint32_t;  // bit i: profile i

// The parts of a model, as read from a catalogue row or from NVML.
struct GpuModelSpec {
  std::string name;                   // "a100-40gb"
  std::string tables;                 // the model whose measured speeds, watts and times apply; empty: `name`
  std::vector<std::string> products;  // "NVIDIA A100-SXM4-40GB"
  std::vector<std::string> pci_ids;   // "0x20B010DE"
  std::string architecture;
  int compute_slices = 0, memory_slices = 0;
  int sms = 0, memory_mib = 0;       // 0: unknown
  bool placements_inferred = false;  // taken from the family, not confirmed on this board
  std::string source;
  std::vector<Profile> profiles;
};

class GpuModel {
 public:
  static Result<GpuModel> make(GpuModelSpec spec);  // kInvalid names the profile and the rule that it breaks

  const GpuModelSpec& spec() const { return spec_; }
  const std::string& name() const { return spec_.name; }
  const std::string& tables() const { return spec_.tables.empty() ? spec_.name : spec_.tables; }
  int compute_slices() const { return spec_.compute_slices; }
  int memory_slices() const { return spec_.memory_slices; }
  std::span<const Profile> profiles() const { return spec_.profiles; }
  std::span<const Placement> placements() const { return placements_; }
  const Placement& placement(PlacementId p) const { return placements_[index(p)]; }
  const Profile& profile_of(PlacementId p) const { return spec_.profiles[placements_[index(p)].profile]; }
  int find_profile(std::string_view name) const;  // "3g.20gb", or "3g" for the plain profile of that size; -1 if none
  PlacementId find_placement(int profile, int start) const;  // kNoPlacement if the profile cannot start there

  ProfileMask all_profiles() const { return (ProfileMask(1) << spec_.profiles.size()) - 1; }
  ProfileMask plain_profiles() const { return mask_of(Variant::kPlain); }
  ProfileMask schedulable_profiles() const {
    return mask_of(Variant::kPlain) | mask_of(Variant::kDoubleMemory) | mask_of(Variant::kHalfMemory);
  }

  bool fits(Layout layout, PlacementId p) const;  // whether p may be added
  std::optional<Layout> with(Layout layout, PlacementId p) const;
  std::optional<Layout> layout_of(std::span<const PlacementId> placements) const;
  // The placements of `layout` whose bits are in `keep`. Every subset of a valid layout is valid.
  Layout subset(Layout layout, std::uint32_t keep) const { return Layout(layout.bits() & keep); }

  // All valid layouts of these profiles, including the empty one, by increasing bits.
  std::vector<Layout> layouts(ProfileMask profiles) const;
  bool maximal(Layout layout, ProfileMask profiles) const;  // no placement of these profiles can be added

  int compute_used(Layout layout) const;
  std::uint32_t memory_mask(Layout layout) const;

 private:
  explicit GpuModel(GpuModelSpec spec);
  ProfileMask mask_of(Variant variant) const;
  GpuModelSpec spec_;
  std::vector<Placement> placements_;
  std::vector<std::uint32_t> conflicts_;  // per placement: placements that cannot coexist with it, including itself
  std::vector<std::uint32_t> siblings_;   // per placement: placements of the same profile
};

}  // namespace smartmig
