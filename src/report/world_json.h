// The fleet of a run, as a page needs it to draw slices to scale: models with their profiles, and the model of each
// GPU.
#pragma once
#include <nlohmann/json.hpp>

#include "model/platform.h"

namespace smartmig {

// {"models":{"a100-40gb":{"compute_slices","memory_slices","memory_mib","profiles":{"3g.20gb":{"compute_slices",
// "memory_slices","memory_mib"}}}},"gpus":["a100-40gb", ...]}; unknown memory is null.
nlohmann::json world_json(const Platform& platform);

}  // namespace smartmig
