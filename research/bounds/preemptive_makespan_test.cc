#include "research/bounds/preemptive_makespan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <vector>

#include "base/rng.h"

namespace smartmig {
namespace {

// The definition, by maximum flow: work goes from jobs to the intervals between releases and `end`, at most an
// interval's length from one job and machines * length in all. Whether everything can be done by `end`.
bool fits(const std::vector<ReleasedJob>& jobs, int machines, double end) {
  std::vector<double> cuts{end};
  double wanted = 0;
  for (const ReleasedJob& job : jobs) {
    if (job.release < end) cuts.push_back(job.release);
    wanted += job.processing;
  }
  std::sort(cuts.begin(), cuts.end());
  const std::size_t n = jobs.size(), intervals = cuts.size() - 1, sink = n + intervals + 1;
  std::vector<std::vector<double>> residual(sink + 1, std::vector<double>(sink + 1));
  for (std::size_t j = 0; j < n; ++j) {
    residual[0][j + 1] = jobs[j].processing;
    for (std::size_t i = 0; i < intervals; ++i)
      if (jobs[j].release <= cuts[i]) residual[j + 1][n + 1 + i] = cuts[i + 1] - cuts[i];
  }
  for (std::size_t i = 0; i < intervals; ++i) residual[n + 1 + i][sink] = machines * (cuts[i + 1] - cuts[i]);
  double flow = 0;
  for (;;) {
    std::vector<std::size_t> from(sink + 1, sink + 1);
    std::queue<std::size_t> open({0});
    from[0] = 0;
    while (!open.empty() && from[sink] > sink) {
      const std::size_t v = open.front();
      open.pop();
      for (std::size_t w = 0; w <= sink; ++w)
        if (from[w] > sink && residual[v][w] > 1e-12) from[w] = v, open.push(w);
    }
    if (from[sink] > sink) break;
    double step = 1e300;
    for (std::size_t v = sink; v != 0; v = from[v]) step = std::min(step, residual[from[v]][v]);
    for (std::size_t v = sink; v != 0; v = from[v]) residual[from[v]][v] -= step, residual[v][from[v]] += step;
    flow += step;
  }
  return flow >= wanted - 1e-7;
}

TEST(PreemptiveMakespan, ByHand) {
  EXPECT_EQ(preemptive_makespan({}, 3), 0);
  EXPECT_EQ(preemptive_makespan(std::vector<ReleasedJob>{{5, 0}}, 1), 5);
  EXPECT_EQ(preemptive_makespan(std::vector<ReleasedJob>{{5, 2}}, 4), 7);
  EXPECT_DOUBLE_EQ(preemptive_makespan(std::vector<ReleasedJob>{{0, 2}, {0, 2}, {0, 2}}, 2), 3);
  EXPECT_DOUBLE_EQ(preemptive_makespan(std::vector<ReleasedJob>{{0, 4}, {0, 1}, {0, 1}}, 2), 4);
  // Until 1 two of the three run, cut to a common height of 4/3; then 4 of work and a new 2 on two machines.
  EXPECT_DOUBLE_EQ(preemptive_makespan(std::vector<ReleasedJob>{{0, 2}, {0, 2}, {0, 2}, {1, 2}}, 2), 4);
  // The long one must have run first: a machine idle at the end shows it.
  EXPECT_DOUBLE_EQ(preemptive_makespan(std::vector<ReleasedJob>{{0, 6}, {0, 1}, {3, 1}, {3, 1}}, 1), 9);
}

TEST(PreemptiveMakespan, IsTheLeastThatFits) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const bool whole = rng.below(2) == 0;
    std::vector<ReleasedJob> jobs(1 + rng.below(9));
    for (ReleasedJob& job : jobs) {
      job.release = whole ? double(rng.below(6)) : rng.uniform(0, 6);
      job.processing = rng.below(10) == 0 ? 0 : whole ? double(rng.below(7)) : rng.exponential(2);
    }
    std::sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.release < b.release; });
    const int machines = 1 + int(rng.below(4));
    const double least = preemptive_makespan(jobs, machines);
    ASSERT_TRUE(fits(jobs, machines, least + 1e-6)) << least;
    if (least > jobs.back().release + 1e-5) {
      ASSERT_FALSE(fits(jobs, machines, least - 1e-5)) << least;
    }
    ASSERT_GE(least, jobs.back().release);
  }
}

}  // namespace
}  // namespace smartmig
