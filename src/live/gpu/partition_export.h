// Configurations made from a machine: its present partition, and the usual ones of its models.
#pragma once
#include <string>
#include <vector>

#include "live/gpu/driver.h"
#include "live/gpu/mig_config.h"

namespace smartmig {

// The present partition: boards that are alike share an entry. GPU instances that are divided count by their compute
// instances ("1c.3g.20gb"). `placements` also says where each GPU instance stands.
MigConfig exported(const std::vector<GpuBoard>& boards, std::string label, bool placements);
// all-disabled, all-enabled, all-PROFILE and all-balanced for the models present.
MigConfigFile generated(const std::vector<GpuBoard>& boards);

}  // namespace smartmig
