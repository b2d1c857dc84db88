// The GPUs of a running daemon (GET /v1/gpus) as text, for `smartmig gpus`.
#pragma once
#include <string>

#include "cli/queue/daemon_options.h"

namespace smartmig::cli {

std::string daemon_gpus_text(const Json& answer, const std::string& daemon);

}  // namespace smartmig::cli
