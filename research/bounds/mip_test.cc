#include "research/bounds/mip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"

namespace smartmig {
namespace {

TEST(Mip, ALinearProgram) {
  MipProblem mip;  // max x + 2y, x + y <= 4, y <= 3
  const int x = mip.add_column(0, kMipInfinity, -1), y = mip.add_column(0, 3, -2), row = mip.add_row(-kMipInfinity, 4);
  mip.add(row, x, 1);
  mip.add(row, y, 1);
  const auto answer = solve_mip(mip, {}, "a test").value();
  EXPECT_NEAR(answer.bound, -7, 1e-9);
  EXPECT_NEAR(answer.values[std::size_t(x)], 1, 1e-9);
  EXPECT_TRUE(answer.optimal);
}

TEST(Mip, InfeasibleAndUnboundedAreToldApart) {
  MipProblem none;
  const int x = none.add_column(0, 1, 1), row = none.add_row(2, kMipInfinity);
  none.add(row, x, 1);
  EXPECT_EQ(solve_mip(none, {}, "the test").error().what, "the test is infeasible: no point satisfies its 1 rows");

  MipProblem crossed;
  crossed.add_column(1, 0, 1);
  EXPECT_NE(solve_mip(crossed, {}, "the test").error().what.find("infeasible"), std::string::npos);

  MipProblem odd;  // 2x = 1 with x whole: only the integrality forbids it
  const int whole = odd.add_column(0, 3, 1, true), half = odd.add_row(1, 1);
  odd.add(half, whole, 2);
  EXPECT_NE(solve_mip(odd, {}, "the test").error().what.find("infeasible"), std::string::npos);

  MipProblem endless;
  const int y = endless.add_column(0, kMipInfinity, -1), slack = endless.add_row(0, kMipInfinity);
  endless.add(slack, y, 1);
  EXPECT_EQ(solve_mip(endless, {}, "the test").error().what, "the test is unbounded: its objective falls without end");
}

// A knapsack with equality: hard enough to need nodes, small enough to enumerate.
struct Knapsack {
  MipProblem mip;
  double best = kMipInfinity;
};
Knapsack knapsack(std::uint64_t seed, int items) {
  Rng rng(seed);
  Knapsack k;
  std::vector<double> weights, costs;
  const int cover = k.mip.add_row(0, kMipInfinity);
  double total = 0;
  for (int i = 0; i < items; ++i) {
    weights.push_back(double(20 + rng.below(60)));
    costs.push_back(weights.back() + double(rng.below(10)));
    total += weights.back();
    k.mip.add(cover, k.mip.add_column(0, 1, costs.back(), true), weights.back());
  }
  const double need = std::floor(total / 2);
  const int demand = k.mip.add_column(need, need, 0);
  k.mip.add(cover, demand, -1);
  for (int set = 0; set < 1 << items; ++set) {
    double weight = 0, cost = 0;
    for (int i = 0; i < items; ++i)
      if (set >> i & 1) weight += weights[std::size_t(i)], cost += costs[std::size_t(i)];
    if (weight >= need) k.best = std::min(k.best, cost);
  }
  return k;
}

TEST(Mip, OptimumAndBoundsOfRandomKnapsacks) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Knapsack k = knapsack(seed, 12);
    const auto full = solve_mip(k.mip, {}, "a knapsack").value();
    EXPECT_TRUE(full.optimal);
    EXPECT_NEAR(full.bound, k.best, 1e-6);
    EXPECT_NEAR(full.incumbent, k.best, 1e-6);
    for (const int nodes : {0, 1, 3}) {
      const auto cut_short = solve_mip(k.mip, {60, nodes}, "a knapsack").value();
      EXPECT_LE(cut_short.bound, k.best + 1e-6);
      EXPECT_GE(cut_short.bound, cut_short.relaxation - 1e-9);
      EXPECT_GE(cut_short.incumbent, k.best - 1e-6);
    }
    const auto no_time = solve_mip(k.mip, {60, 1000, 0}, "a knapsack").value();
    EXPECT_EQ(no_time.bound, -kMipInfinity);
    EXPECT_FALSE(no_time.optimal);
  }
}

}  // namespace
}  // namespace smartmig
