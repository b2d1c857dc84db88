#include "policy/room.h"

#include <gtest/gtest.h>

#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::min;

TEST(Room, ASharedQueueIsExpectedBeforeAnythingWasSeen) {
  const RoomNeeded room = room_needed({}, 8 * 60);
  EXPECT_NEAR(room.slots, 3, 1e-9) << "one slot on average, three nearly always";
  EXPECT_NEAR(room.waiting, 48 * 240, 1e-6) << "48 come, and wait for half of it";
  EXPECT_EQ(room_needed({}, 60).slots, 0) << "nobody is much shorter than an hour";
}

TEST(Room, FollowsWhatWasSeen) {
  ArrivalsByLength seen;
  seen.see(min(0));
  for (int i = 1; i <= 200; ++i) seen.add(min(2 * i), 8);  // four slots on average
  const RoomNeeded room = room_needed(seen, 240);
  EXPECT_NEAR(room.slots, 4 + 2 * 2, 1);
  EXPECT_EQ(room_needed(seen, 32).slots, 0) << "they are not much shorter than that";
  seen.see(min(400 + 5 * 1440));
  EXPECT_LT(room_needed(seen, 240).slots, 1) << "they have stopped coming";
}

TEST(Room, WhatIsLostGrowsWithTheSquareOfTheRunAndWithWhatIsMissing) {
  const RoomNeeded day = room_needed({}, 1440), two = room_needed({}, 2880);
  EXPECT_NEAR(two.minutes_lost(0) / day.minutes_lost(0), 4, 1e-9);
  EXPECT_EQ(day.minutes_lost(day.slots), 0);
  EXPECT_NEAR(day.minutes_lost(day.slots / 2), day.waiting / 2, 1e-9);
}

}  // namespace
}  // namespace smartmig
