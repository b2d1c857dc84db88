// The planned change of one GPU as JSON, for plan and apply.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "live/gpu/desired.h"

namespace smartmig::cli {

nlohmann::ordered_json change_json(const GpuChange& change, const GpuBoard& board);

}  // namespace smartmig::cli
