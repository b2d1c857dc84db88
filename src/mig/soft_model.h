// The geometry of soft slices (MPS, live/gpu/mps_driver.h) of a GPU model: that of its MIG slices, and beside them slices of half the
// memory of the smallest. MIG cannot have those; MPS sets memory limits as it likes and does not reserve SMs, so that what
// small jobs wait for on a GPU of seven slices is memory that nobody uses. The axis has twice as many memory slices, and a slice of
// half the memory counts as many compute slices as the smallest: where all may use all SMs that is a name, not a share.
// Known to the catalogue as "h200-141gb-soft". Speeds, watts and times are those measured for the model itself.
#pragma once
#include "mig/gpu_model.h"

namespace smartmig {

inline constexpr std::string_view kSoftSuffix = "-soft";
inline constexpr int kLeastHalfMib = 4096;  // less is not worth a slice: a CUDA context takes an eighth of it

// Nothing where there is no use in halves: the smallest slice is too small, or there would be too many placements.
std::optional<GpuModel> soft_model(const GpuModel& hard);

}  // namespace smartmig
