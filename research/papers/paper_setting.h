// The setting of the papers' day: fleet and workload, the paper's costs (preempting and reshaping are free) and its
// weight a = 2e-7.
#pragma once
#include <string>

#include "eval/experiment.h"

namespace smartmig {

Result<Setting> paper_setting(std::string workload, const std::string& gpus = "8xa100-40gb");

}  // namespace smartmig
