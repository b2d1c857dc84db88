// How fast a job kind advances on a slice, relative to the whole board: 1 there. From data/speeds.csv; the GPU's own
// rows first, else those of any measured GPU for the same size, else the share of compute slices.
#pragma once
#include <string_view>

#include "base/result.h"

namespace smartmig::nvsim {

// `profile` as in data/profiles.csv; `slices` of a compute instance may be fewer than the profile's.
Result<double> relative_speed(std::string_view kind, std::string_view gpu, std::string_view profile, int slices);

}  // namespace smartmig::nvsim
