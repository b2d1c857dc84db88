// Slurm's notation for GPUs, as in --gres and --gpus: "gpu:1g.10gb:1", "gpu:a100_1g.5gb", "gpu:h100:1", "gpu:1", "1".
// The daemon decides whether the profile or model exists.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace smartmig::cli {

struct GresWords {
  std::string profile;  // "1g.10gb"; empty: none was named
  std::string model;    // "h100"; empty: none was named
};
Result<GresWords> read_gres(std::string_view text);
bool looks_like_profile(std::string_view text);  // "1g.10gb"

}  // namespace smartmig::cli
