#include "serve/attempts/idle_watch.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

std::deque<IdleWatch::Look> every_second(int count, double share, bool on_gpu) {
  std::deque<IdleWatch::Look> out;
  for (int i = 0; i < count; ++i) out.push_back({from_seconds(i), from_seconds(share * i), on_gpu});
  return out;
}

TEST(IdleWatch, AJobIsIdleOnceItTookHardlyAnyProcessorTimeForSoLong) {
  auto looks = every_second(10, 0.01, true);
  EXPECT_FALSE(IdleWatch::idle_share(looks, from_seconds(20))) << "not watched for so long";
  looks = every_second(21, 0.01, true);
  EXPECT_NEAR(IdleWatch::idle_share(looks, from_seconds(20)).value_or(-1), 0.01, 1e-9);
  looks = every_second(21, 0.5, true);
  EXPECT_FALSE(IdleWatch::idle_share(looks, from_seconds(20))) << "busy";
}

TEST(IdleWatch, OneThatNeverOpenedTheGpuIsIdleHoweverBusyItIs) {
  auto looks = every_second(21, 0.9, false);
  EXPECT_TRUE(IdleWatch::idle_share(looks, from_seconds(20)));
  looks.back().on_gpu = true;
  EXPECT_FALSE(IdleWatch::idle_share(looks, from_seconds(20)));
}

TEST(IdleWatch, OnlyTheLastTimeCountsAndOlderLooksGo) {
  std::deque<IdleWatch::Look> looks;
  for (int i = 0; i <= 100; ++i)
    looks.push_back({from_seconds(i), from_seconds(std::min(i, 50)), true});  // busy, then not
  EXPECT_TRUE(IdleWatch::idle_share(looks, from_seconds(40)));
  EXPECT_EQ(looks.size(), 41u);
  EXPECT_EQ(looks.front().at, from_seconds(60));
  // A sum that falls (a child nobody waited for) is no use.
  looks.push_back({from_seconds(101), from_seconds(10), true});
  EXPECT_EQ(IdleWatch::idle_share(looks, from_seconds(40)).value_or(-1), 0);
}

}  // namespace
}  // namespace smartmig
