#include "mig/choose.h"

#include <algorithm>
#include <tuple>

namespace smartmig {

std::vector<int> suitable_profiles(const GpuModel& model, int mem_mib, int min_slices, ProfileMask profiles) {
  std::vector<int> found;
  for (std::size_t i = 0; i < model.profiles().size(); ++i) {
    const Profile& p = model.profiles()[i];
    if (mem_mib <= 0 && p.variant == Variant::kHalfMemory) continue;
    if ((profiles >> i & 1) && p.compute_slices >= min_slices && (mem_mib <= 0 || p.memory_mib >= mem_mib))
      found.push_back(int(i));
  }
  const auto size = [&](int i) {
    const Profile& p = model.profiles()[std::size_t(i)];
    return std::tuple(p.compute_slices, p.memory_mib, p.memory_slices, i);
  };
  std::sort(found.begin(), found.end(), [&](int a, int b) { return size(a) < size(b); });
  return found;
}

Result<int> choose_profile(const GpuModel& model, int mem_mib, int min_slices) {
  const auto found = suitable_profiles(model, mem_mib, min_slices, model.schedulable_profiles());
  if (!found.empty()) return found.front();
  int memory = 0, slices = 0;
  bool unknown = false;
  for (const Profile& p : model.profiles()) {
    memory = std::max(memory, p.memory_mib);
    slices = std::max(slices, p.compute_slices);
    unknown = unknown || p.memory_mib == 0;
  }
  return not_found("no profile of {} has {} MiB and {} compute slices; the largest has {} slices and {}{}",
                   model.name(), std::max(mem_mib, 0), std::max(min_slices, 1), slices,
                   memory > 0 ? fmt::format("{} MiB", memory) : "an unknown memory",
                   unknown && memory > 0 ? " (the memory of some profiles is not known)" : "");
}

}  // namespace smartmig
