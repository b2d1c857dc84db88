// The geometry of soft slices (MPS, live/gpu/mps_driver.h) of a GPU model: that of its MIG slices, plus slices of half
// the memory of the smallest. MIG cannot make those. MPS sets any memory limit and does not reserve SMs; on a GPU of
// seven slices, small jobs wait for memory that nobody uses. The axis has twice as many memory slices. A slice of half
// the memory counts as many compute slices as the smallest, which is only a name where all may use all SMs. The
// catalogue calls such a model "h200-141gb-soft". Speeds, watts and times are those measured for the model itself.
#pragma once
#include "mig/gpu_model.h"

namespace smartmig {

inline constexpr std::string_view kSoftSuffix = "-soft";
inline constexpr int kLeastHalfMib = 4096;  // a smaller slice is not worth it: a CUDA context takes an eighth of this

// nullopt where halves are useless: the smallest slice is too small, or there would be too many placements.
std::optional<GpuModel> soft_model(const GpuModel& hard);

}  // namespace smartmig
