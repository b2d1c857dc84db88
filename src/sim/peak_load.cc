#include "sim/peak_load.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/kind_curve.h"

namespace smartmig {

// The GPU-seconds used until t are linear between starts and ends of jobs. So their growth over a span is greatest for
// a span that begins or ends at one of these.
double peak_gpus(const Workload& workload, Time span) {
  std::vector<std::pair<Time, int>> changes;
  for (const Job& job : workload.jobs) {
    changes.emplace_back(job.submit, 1);
    changes.emplace_back(job.submit + whole_gpu_work(job), -1);
  }
  if (changes.empty() || span <= Time{0}) return 0;
  std::sort(changes.begin(), changes.end());
  std::vector<double> used(changes.size());  // GPU-microseconds until changes[i]
  std::vector<int> busy(changes.size());     // from changes[i] on
  int running = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (i > 0) used[i] = used[i - 1] + running * double((changes[i].first - changes[i - 1].first).count());
    running += changes[i].second;
    busy[i] = running;
  }
  const auto used_until = [&](Time t) {
    const auto after = std::upper_bound(changes.begin(), changes.end(), t,
                                        [](Time at, const std::pair<Time, int>& change) { return at < change.first; });
    if (after == changes.begin()) return 0.0;
    const std::size_t i = std::size_t(after - changes.begin()) - 1;
    return used[i] + busy[i] * double((t - changes[i].first).count());
  };
  double most = 0;
  for (const auto& [at, step] : changes)
    most = std::max({most, used_until(at + span) - used_until(at), used_until(at) - used_until(at - span)});
  return most / double(span.count());
}

}  // namespace smartmig
