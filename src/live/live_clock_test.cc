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

struct TakingHands {
  UnixTime day{Time(1'000'000'000)};
  Time steady{500};
  RealClock clock{[this] { return day; }, [this] { return steady; }, RealClock::Steps::kTaken};
  void pass(Time by) {
    day += by;
    steady += by;
  }
};

TEST(RealClockTest, AStepIsTakenAtOnceWhenItIsAskedFor) {
  TakingHands hands;
  const UnixTime before = hands.clock.now();
  for (const Time by : {from_seconds(3600), from_seconds(-7200), from_seconds(3)}) {
    hands.pass(from_seconds(2));
    const UnixTime then = hands.clock.now();
    hands.day += by;
    hands.pass(from_seconds(5));
    EXPECT_EQ(hands.clock.now() - then, from_seconds(5)) << "a duration over a step";
    EXPECT_FALSE(hands.clock.wait_until(kNeverUnix)) << "a step ends a wait";
    EXPECT_EQ(hands.clock.take_step(), by);
    EXPECT_EQ(hands.clock.now(), hands.day);
    EXPECT_EQ(hands.clock.take_step(), Time{0});
  }
  EXPECT_EQ(hands.clock.now() - before, from_seconds(3 * 7 + 3600 - 7200 + 3));
  EXPECT_EQ(hands.clock.steady(), hands.steady);
  EXPECT_FALSE(hands.clock.boot().empty());
}

TEST(RealClockTest, ALittleIsFollowedSlowly) {
  TakingHands hands;
  hands.day += from_seconds(1.5);
  for (int i = 0; i < 150; ++i) {
    EXPECT_EQ(hands.clock.take_step(), Time{0});
    const UnixTime then = hands.clock.now();
    hands.pass(from_seconds(1));
    EXPECT_EQ(hands.clock.now() - then, from_seconds(1.01));
  }
  EXPECT_EQ(hands.clock.now(), hands.day);
}

TEST(RealClockTest, AThreadThatWasHaltedBetweenTwoClocksSeesNoStep) {
  UnixTime day{Time(1'000'000'000)};
  Time steady{0};
  int halts = 0;
  RealClock clock(
      [&] {
        if (halts > 0 && halts-- > 0) {  // between the two reads
          day += from_seconds(30);
          steady += from_seconds(30);
        }
        return day;
      },
      [&] { return steady; }, RealClock::Steps::kTaken);
  halts = 1;
  EXPECT_EQ(clock.take_step(), Time{0});
  EXPECT_EQ(clock.now(), day);
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
