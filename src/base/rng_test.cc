#include "base/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

namespace smartmig {
namespace {

TEST(Rng, FirstValuesAreForEver) {
  Rng rng(1);
  EXPECT_EQ(rng.next(), 7982734928498899980u);
  EXPECT_EQ(rng.next(), 7851527857629710090u);
  EXPECT_EQ(rng.next(), 9955129241680291498u);
  EXPECT_EQ(Rng(1, 2).next(), 15201566595796281265u);
  Rng draws(7);
  EXPECT_EQ(draws.uniform(), 0x1.e67b8d7aabff5p-1);
  EXPECT_EQ(draws.exponential(3), 0x1.969725cbc5474p+2);
  EXPECT_EQ(draws.normal(), 0x1.006f2ab4f549bp-1);
  EXPECT_EQ(draws.lognormal(1, 0.5), 0x1.95ece7c7374ebp+0);
  EXPECT_EQ(draws.poisson(5), 4u);
  EXPECT_EQ(draws.below(1000), 175u);
}

TEST(Rng, StreamsAndSeedsDiffer) {
  EXPECT_NE(Rng(1).next(), Rng(2).next());
  EXPECT_NE(Rng(1, 0).next(), Rng(1, 1).next());
  EXPECT_NE(Rng(1, 2).next(), Rng(2, 1).next());
  Rng a(5), b(5);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next(), b.next());
}

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments_of(const std::function<double(Rng&)>& draw) {
  Rng rng(42);
  const int n = 200000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = draw(rng);
    sum += x;
    squares += x * x;
  }
  return {sum / n, squares / n - sum / n * (sum / n)};
}

TEST(Rng, Moments) {  // seed 42; five standard errors of 200,000 draws
  const auto uniform = moments_of([](Rng& r) { return r.uniform(2, 6); });
  EXPECT_NEAR(uniform.mean, 4, 0.013);
  EXPECT_NEAR(uniform.variance, 16.0 / 12, 0.014);
  const auto exponential = moments_of([](Rng& r) { return r.exponential(3); });
  EXPECT_NEAR(exponential.mean, 3, 0.034);
  EXPECT_NEAR(exponential.variance, 9, 0.29);
  const auto normal = moments_of([](Rng& r) { return r.normal(); });
  EXPECT_NEAR(normal.mean, 0, 0.012);
  EXPECT_NEAR(normal.variance, 1, 0.016);
  const auto lognormal = moments_of([](Rng& r) { return std::log(r.lognormal(1, 0.5)); });
  EXPECT_NEAR(lognormal.mean, 1, 0.006);
  EXPECT_NEAR(lognormal.variance, 0.25, 0.004);
  const auto poisson = moments_of([](Rng& r) { return double(r.poisson(4)); });
  EXPECT_NEAR(poisson.mean, 4, 0.023);
  EXPECT_NEAR(poisson.variance, 4, 0.07);
}

TEST(Rng, RangesAreKept) {
  Rng rng(9);
  std::array<int, 7> seen{};
  for (int i = 0; i < 70000; ++i) {
    ++seen[rng.below(7)];
    const double u = rng.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ASSERT_GE(rng.exponential(1), 0);
    ASSERT_TRUE(std::isfinite(rng.normal()));
  }
  for (const int count : seen) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(rng.below(1), 0u);
  EXPECT_EQ(rng.poisson(0), 0u);
  for (int i = 0; i < 100; ++i) EXPECT_LT(rng.below((std::uint64_t(1) << 63) + 1), (std::uint64_t(1) << 63) + 1);
}

}  // namespace
}  // namespace smartmig
