#include "mig/soft_model.h"

#include <fmt/format.h>

namespace smartmig {

std::optional<GpuModel> soft_model(const GpuModel& hard) {
  GpuModelSpec spec = hard.spec();
  spec.name += kSoftSuffix;
  spec.tables = hard.tables();
  spec.products.clear();
  spec.pci_ids.clear();
  spec.memory_slices *= 2;
  std::vector<Profile> kept;
  const Profile* smallest = nullptr;
  for (const Profile& p : hard.profiles()) {
    if (!(hard.schedulable_profiles() >> (&p - hard.profiles().data()) & 1)) continue;
    kept.push_back(p);
    kept.back().memory_slices *= 2;
    for (int& start : kept.back().starts) start *= 2;
    if (p.variant == Variant::kPlain && (!smallest || p.compute_slices < smallest->compute_slices)) smallest = &p;
  }
  if (!smallest || smallest->memory_mib / 2 < kLeastHalfMib || smallest->memory_slices != 1) return std::nullopt;
  Profile half = *smallest;
  half.name = fmt::format("{}g.{}gb", half.compute_slices, (half.memory_mib / 2 + 512) / 1024);
  half.nvml_id = half.nvml_enum = -1;
  half.memory_mib /= 2;
  half.max_instances *= 2;
  half.variant = Variant::kHalfMemory;
  half.starts.clear();
  for (const int start : smallest->starts) half.starts.insert(half.starts.end(), {2 * start, 2 * start + 1});
  kept.push_back(std::move(half));
  spec.profiles = std::move(kept);
  auto made = GpuModel::make(std::move(spec));
  if (!made) return std::nullopt;
  return std::move(*made);
}

}  // namespace smartmig
