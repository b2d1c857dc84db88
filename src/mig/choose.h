// Which profile a job should ask for: the tightest that has the memory and the compute it needs. Order: compute slices,
// then memory, then memory slices. A profile whose memory is unknown satisfies no stated need.
#pragma once
#include <vector>

#include "mig/gpu_model.h"

namespace smartmig {

// All of `profiles` with at least mem_mib MiB (0 or less: any) and min_slices compute slices, smallest first.
std::vector<int> suitable_profiles(const GpuModel& model, int mem_mib, int min_slices, ProfileMask profiles);

// The smallest schedulable one; the error says how large the largest is.
Result<int> choose_profile(const GpuModel& model, int mem_mib, int min_slices);

}  // namespace smartmig
