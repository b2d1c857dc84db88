#include "cluster/workload.h"

#include <fmt/format.h>

namespace smartmig {

std::string to_string(const ClusterJobName& name) {
  return name.task < 0 ? fmt::format("{}", name.id) : fmt::format("{}_{}", name.id, name.task);
}

}  // namespace smartmig
