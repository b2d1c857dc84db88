#include "research/papers/paper_setting.h"

namespace smartmig {

Result<Setting> paper_setting(std::string workload, const std::string& gpus) {
  Setting setting;
  SMARTMIG_TRY(Platform platform, Platform::parse(gpus));
  setting.platform = std::make_shared<Platform>(std::move(platform));
  setting.workload = std::move(workload);
  setting.a = kPaperA;
  return setting;
}

}  // namespace smartmig
