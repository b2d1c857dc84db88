// Chooses the profile that a job should ask for: the tightest one with the memory and compute that it needs. Profiles
// are ordered by compute slices, then memory, then memory slices. A profile of unknown memory satisfies no stated need.
#pragma once
#include <vector>

#include "mig/gpu_model.h"

namespace smartmig {

// Those of `profiles` with at least mem_mib MiB (0 or less: any) and min_slices compute slices, smallest first.
std::vector<int> suitable_profiles(const GpuModel& model, int mem_mib, int min_slices, ProfileMask profiles);

// The smallest schedulable one. The error names the size of the largest.
Result<int> choose_profile(const GpuModel& model, int mem_mib, int min_slices);

}  // namespace smartmig
