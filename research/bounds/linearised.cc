#include "research/bounds/linearised.h"

#include <algorithm>

#include "bound/least_times.h"

namespace smartmig {

Result<std::vector<LinearJob>> linearise(const Platform& platform, const JobTable& jobs, std::string_view bound) {
  SMARTMIG_RETURN_IF_ERROR(require_least_times(jobs));
  if (platform.models().size() != 1) return invalid("{} applies to one GPU model, not to {}", bound, platform.spec());
  const auto profiles = platform.models()[0].gpu->profiles();
  std::vector<LinearJob> linear;
  linear.reserve(jobs.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    Time one = kCannotRun;
    for (std::size_t p = 0; p < profiles.size(); ++p)
      if (const Time work = jobs.work(JobId(j), TypeId(p)); profiles[p].compute_slices == 1 && work >= Time{0})
        one = one < Time{0} ? work : std::min(one, work);
    if (one < Time{0})
      return invalid("{} does not hold: job {} has no time on one slice", bound, jobs.workload().name_of(j));
    std::int64_t least = one.count();
    for (std::size_t p = 0; p < profiles.size(); ++p) {
      const std::int64_t work = jobs.work(JobId(j), TypeId(p)).count(), k = profiles[p].compute_slices;
      if (work < 0) continue;
      if ((work + 1) * k < one.count())
        return invalid("{} does not hold: job {} is superlinear on {}", bound, jobs.workload().name_of(j),
                       profiles[p].name);
      least = std::min(least, work * k);
    }
    linear.push_back({seconds(jobs.job(JobId(j)).submit), double(least) / 1e6});
  }
  return linear;
}

}  // namespace smartmig
