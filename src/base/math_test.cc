#include "base/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"

namespace smartmig {
namespace {

constexpr double kTolerance = 4 * 4e-16;  // what math.h promises

TEST(Math, LogAgreesWithTheCLibrary) {
  const std::uint64_t seed = 1;
  Rng rng(seed);
  for (int i = 0; i < 200000; ++i) {
    const double x = std::exp(rng.uniform(-700, 700));
    ASSERT_NEAR(deterministic_log(x), std::log(x), kTolerance * std::abs(std::log(x)))
        << "seed " << seed << ", x = " << x;
    const double near_one = rng.uniform(0.5, 2);
    ASSERT_NEAR(deterministic_log(near_one), std::log(near_one), kTolerance * std::abs(std::log(near_one)) + 1e-17)
        << "seed " << seed << ", x = " << near_one;
  }
}

TEST(Math, LogAtTheEdges) {
  EXPECT_EQ(deterministic_log(1), 0);
  for (const double x : {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::min(),
                         std::numeric_limits<double>::max(), 0x1p-53, 1 - 0x1p-53, 1 + 0x1p-52, 2.0, 0.5})
    EXPECT_NEAR(deterministic_log(x), std::log(x), kTolerance * std::abs(std::log(x))) << x;
}

TEST(Math, TheNormalDistributionAgreesWithTheCLibrary) {
  for (double z = -6; z <= 6; z += 0.01) {
    const double share = std::erfc(-z / std::sqrt(2.0)) / 2;
    ASSERT_NEAR(normal_share_below(z), share, 1e-7) << z;
    ASSERT_NEAR(normal_quantile(share), z, 1e-6) << z;
  }
}

TEST(Math, ExpAgreesWithTheCLibrary) {
  const std::uint64_t seed = 2;
  Rng rng(seed);
  for (int i = 0; i < 200000; ++i)
    for (const double x : {rng.uniform(-700, 700), rng.uniform(-2, 2), rng.uniform(-1e-9, 1e-9)})
      ASSERT_NEAR(deterministic_exp(x), std::exp(x), kTolerance * std::exp(x)) << "seed " << seed << ", x = " << x;
}

TEST(Math, ExpAtTheEdges) {
  EXPECT_EQ(deterministic_exp(0), 1);
  EXPECT_EQ(deterministic_exp(1000), HUGE_VAL);
  EXPECT_EQ(deterministic_exp(-1000), 0);
  EXPECT_TRUE(std::isfinite(deterministic_exp(709.7)));
  EXPECT_GT(deterministic_exp(-744), 0);
}

}  // namespace
}  // namespace smartmig
