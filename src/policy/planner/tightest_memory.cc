#include "policy/planner/tightest_memory.h"

namespace smartmig {

bool tightest_memory(const Cluster& cluster, JobId job, TypeId type) {
  if (cluster.jobs().work(job, type) < Time{0}) return false;
  const Platform& platform = cluster.platform();
  const SliceType& own = platform.type(type);
  const auto runs_on = [&](Variant variant) {
    for (std::size_t u = 0; u < platform.types().size(); ++u)
      if (platform.types()[u].model == own.model && platform.types()[u].compute_slices == own.compute_slices &&
          platform.profile(TypeId(u)).variant == variant && cluster.jobs().work(job, TypeId(u)) >= Time{0})
        return true;
    return false;
  };
  switch (platform.profile(type).variant) {
    case Variant::kHalfMemory:
      return true;
    case Variant::kPlain:
      return platform.models()[std::size_t(own.model)].halves == 0 || !runs_on(Variant::kHalfMemory);
    case Variant::kDoubleMemory:
      return !runs_on(Variant::kPlain) && !runs_on(Variant::kHalfMemory);
    default:
      return false;
  }
}

}  // namespace smartmig
