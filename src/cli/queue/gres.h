// Slurm's words for a slice: "gpu:1g.10gb:1", "gpu:a100_1g.5gb", "gpu:1", "1". A MIG profile of any known GPU model
// asks for its compute slices and its memory (the least of that name, since drivers differ by some hundred MiB).
#pragma once
#include <string_view>

#include "base/result.h"

namespace smartmig::cli {

struct GresSlice {
  int compute_slices = 0;  // 0: no profile was named
  int memory_mib = 0;
};
Result<GresSlice> read_gres(std::string_view text);

}  // namespace smartmig::cli
