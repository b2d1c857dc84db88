#include "cluster/metric_lines.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

TEST(RecentTimes, QuantilesOfTheLastOnes) {
  RecentTimes times(100);
  EXPECT_EQ(times.quantile(0.5), 0);
  times.add(7);
  for (const double share : {0.0, 0.5, 0.99, 1.0}) EXPECT_EQ(times.quantile(share), 7);
  for (int i = 100; i >= 1; --i) times.add(i);  // 7 is forgotten
  EXPECT_EQ(times.size(), 100u);
  EXPECT_EQ(times.quantile(0), 1);
  EXPECT_EQ(times.quantile(0.5), 50);
  EXPECT_EQ(times.quantile(0.99), 99);
  EXPECT_EQ(times.quantile(1), 100);
  for (int i = 0; i < 50; ++i) times.add(1000);
  EXPECT_EQ(times.quantile(0.5), 50);
  EXPECT_EQ(times.quantile(0.51), 1000);
}

}  // namespace
}  // namespace smartmig
