#include "research/bounds/preemptive_makespan.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

namespace smartmig {
namespace {

// Cuts the levels (descending) by what `machines` can do in `length`: x' = min(x, max(h, x - length)), where h is the
// common height at which the total cut is machines * length, or 0 if there is less work.
void cut_levels(std::vector<double>& levels, int machines, double length) {
  const auto total_cut = [&](double h) {
    double cut = 0;
    for (double x : levels) {
      if (x <= h) break;
      cut += std::min(x - h, length);
    }
    return cut;
  };
  const double capacity = machines * length;
  double h = 0;
  if (total_cut(0) > capacity) {
    // total_cut is piecewise linear and decreasing, with corners at x and x - length. Find the piece, then interpolate.
    std::vector<double> corners;
    for (double x : levels) {
      corners.push_back(x);
      if (x > length) corners.push_back(x - length);
    }
    corners.push_back(0);
    std::sort(corners.begin(), corners.end());
    std::size_t low = 0, high = corners.size() - 1;  // total_cut(low) > capacity >= total_cut(high)
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      (total_cut(corners[middle]) > capacity ? low : high) = middle;
    }
    const double at_low = total_cut(corners[low]), at_high = total_cut(corners[high]);
    h = at_low == at_high ? corners[high]
                          : corners[low] + (corners[high] - corners[low]) * (at_low - capacity) / (at_low - at_high);
  }
  for (double& x : levels) x = std::min(x, std::max(h, x - length));
  while (!levels.empty() && levels.back() <= 0) levels.pop_back();
  std::sort(levels.begin(), levels.end(), std::greater<>());
  while (!levels.empty() && levels.back() <= 0) levels.pop_back();
}

}  // namespace

double preemptive_makespan(std::span<const ReleasedJob> jobs, int machines) {
  std::vector<double> levels;  // remaining times, descending
  double now = 0;
  for (const ReleasedJob& job : jobs) {
    if (job.release > now) {
      if (!levels.empty()) cut_levels(levels, machines, job.release - now);
      now = job.release;
    }
    if (job.processing > 0)
      levels.insert(std::upper_bound(levels.begin(), levels.end(), job.processing, std::greater<>()), job.processing);
  }
  if (levels.empty()) return now;
  return now + std::max(levels.front(), std::accumulate(levels.begin(), levels.end(), 0.0) / machines);
}

}  // namespace smartmig
