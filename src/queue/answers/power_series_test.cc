#include "queue/answers/power_series.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

UnixTime at_second(std::int64_t s) { return from_unix_us(s * 1'000'000); }

TEST(PowerSeries, WattsOfEachMinute) {
  PowerSeries series;
  for (std::int64_t s = 90; s <= 300; s += 10) series.add(at_second(s), 1000);  // 100 W, from the middle of a minute
  ASSERT_EQ(series.points().size(), 5u);
  for (const PowerSeries::Point& point : series.points())
    if (point.covered_s > 0) EXPECT_NEAR(point.watts(), 100, 21) << point.minute;
  EXPECT_EQ(series.points()[1].joules, 6000);
  EXPECT_EQ(series.points()[1].minute, 2);
}

TEST(PowerSeries, OutlivesARestart) {
  PowerSeries before, after;
  for (std::int64_t s = 0; s <= 200; s += 10) before.add(at_second(s), 500);
  after.load(before.text());
  ASSERT_EQ(after.points().size(), 3u) << "the minute that is not over is lost";
  EXPECT_EQ(after.points()[1].joules, before.points()[1].joules);
  EXPECT_TRUE(after.add(at_second(6000), 500)) << "an hour later";
  EXPECT_EQ(after.points().back().joules, 0) << "what the first sample tells of was before";
  after.add(at_second(6010), 500);
  EXPECT_NEAR(after.points().back().watts(), 50, 1e-9);
  after.load("nonsense 1:2 3:x:4 5:6:7");
  ASSERT_EQ(after.points().size(), 1u);
  EXPECT_EQ(after.points()[0].minute, 5);
}

TEST(PowerSeries, ForgetsWhatIsOlderThanADay) {
  PowerSeries series;
  for (std::int64_t minute = 0; minute < 3000; ++minute) series.add(at_second(60 * minute + 30), 1);
  EXPECT_LE(series.points().size(), std::size_t(PowerSeries::kMinutes) + 1);
  EXPECT_EQ(series.points().back().minute, 2999);
}

}  // namespace
}  // namespace smartmig
