#include "live/live_clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace smartmig {
namespace {

struct Hands {
  UnixTime day{Time(1'000'000'000)};
  Time steady{500};
  RealClock clock{[this] { return day; }, [this] { return steady; }};
  UnixTime pass(Time by) {
    day += by;
    steady += by;
    return clock.now();
  }
};

TEST(RealClockTest, IsTheTimeOfDay) {
  Hands hands;
  EXPECT_EQ(hands.clock.now(), from_unix_us(1'000'000'000));
  EXPECT_EQ(hands.pass(Time(1'234)), from_unix_us(1'000'001'234));
}

TEST(RealClockTest, FollowsAClockThatWasSetWithoutJumpingOrRunningBackwards) {
  Hands hands;
  hands.day += Time(50'000'000);  // someone set it 50 s forward
  UnixTime before = hands.clock.now();
  for (int i = 0; i < 600; ++i) {
    const UnixTime now = hands.pass(Time(1'000'000));
    EXPECT_GE(now - before, Time(1'000'000));
    EXPECT_LE(now - before, Time(1'100'000));
    before = now;
  }
  EXPECT_EQ(before, hands.day);
  hands.day -= Time(20'000'000);
  for (int i = 0; i < 300; ++i) {
    const UnixTime now = hands.pass(Time(1'000'000));
    EXPECT_GE(now - before, Time(900'000));
    EXPECT_LE(now - before, Time(1'000'000));
    before = now;
  }
  EXPECT_EQ(before, hands.day);
}

TEST(RealClockTest, AWakeBeforeTheWaitEndsIt) {
  RealClock clock;
  clock.wake();
  EXPECT_FALSE(clock.wait_until(kNeverUnix));
  const UnixTime soon = clock.now() + Time(2'000);
  EXPECT_TRUE(clock.wait_until(soon)) << "one wake ends one wait";
  EXPECT_GE(clock.now(), soon);
}

TEST(RealClockThread, NoWakeIsLost) {
  RealClock clock;
  std::atomic<int> posted{0};
  std::thread poster([&] {
    for (int i = 0; i < 2'000; ++i) {
      ++posted;
      clock.wake();
      if (i % 64 == 0) std::this_thread::yield();
    }
  });
  while (posted < 2'000) clock.wait_until(clock.now() + Time(20'000'000));
  poster.join();
  const UnixTime before = clock.now();
  clock.wait_until(before + Time(1'000));
  SUCCEED();
}

}  // namespace
}  // namespace smartmig
