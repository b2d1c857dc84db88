#include "policy/planner/room.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::min;

constexpr double kSlots = 56;  // of eight GPUs

TEST(Room, ASharedQueueIsExpectedBeforeAnythingWasSeen) {
  const RoomNeeded room = room_needed({}, 8 * 60, kSlots);
  EXPECT_NEAR(room.slots, 4 + 2 * 2, 1e-9) << "a fourteenth of the slots on average, twice that nearly always";
  EXPECT_NEAR(room.length, 40, 1e-9);
  EXPECT_NEAR(room.waiting, 48 * 240, 1e-6) << "48 come, and wait for half of it";
  EXPECT_EQ(room_needed({}, 60, kSlots).slots, 0) << "nobody is much shorter than an hour";
  EXPECT_LT(room_needed({}, 8 * 60, 7).slots, 2) << "one GPU has fewer users than eight";
}

TEST(Room, FollowsWhatWasSeen) {
  ArrivalsByLength seen;
  seen.see(min(0));
  for (int i = 1; i <= 200; ++i) seen.add(min(2 * i), 8);  // four slots on average
  const RoomNeeded room = room_needed(seen, 240, kSlots);
  EXPECT_NEAR(room.slots, 4 + 2 * 2, 1.5);
  EXPECT_LT(room.length, 20);
  EXPECT_EQ(room_needed(seen, 32, kSlots).slots, 0) << "they are not much shorter than that";
  seen.see(min(400 + 5 * 1440));
  EXPECT_LT(room_needed(seen, 240, kSlots).slots, 3) << "they have stopped coming";
}

TEST(Room, ABurstOfAMomentIsNoStream) {
  ArrivalsByLength seen;
  seen.see(min(0));
  for (int i = 0; i < 500; ++i) seen.add(min(0), 0.5);
  seen.see(min(1));
  const RoomNeeded room = room_needed(seen, 60, kSlots);
  EXPECT_LT(room.slots, 6) << "as if such a minute came once in two hours, not every minute";
}

TEST(Room, AJobOfUnknownTimeCountsByItsProbabilities) {
  ArrivalsByLength seen;
  seen.see(min(0));
  for (int i = 1; i <= 200; ++i) seen.add(min(2 * i), 5, 0.5);
  EXPECT_NEAR(room_needed(seen, 72, kSlots).slots, 1.25 + 2 * std::sqrt(1.25), 0.7);
}

TEST(Room, WhatIsLostGrowsWithTheSquareOfTheRunAndWithWhatIsMissing) {
  const RoomNeeded day = room_needed({}, 1440, kSlots), two = room_needed({}, 2880, kSlots);
  EXPECT_NEAR(two.minutes_lost(0) / day.minutes_lost(0), 4, 1e-9);
  EXPECT_EQ(day.minutes_lost(day.slots), 0);
  EXPECT_NEAR(day.minutes_lost(day.slots / 2), day.waiting / 2, 1e-9);
}

TEST(Room, PeersAreThoseWhoCameOfLateOrUsuallyCome) {
  ArrivalsByLength seen;
  seen.see(min(0));
  for (int i = 0; i < 6; ++i) seen.add(min(i), 480);
  EXPECT_NEAR(peers_present(seen, 480), 6, 0.2) << "nothing is known but that six came in six minutes";
  EXPECT_EQ(peers_present(seen, 6000), 0) << "none of them is as long";
  ArrivalsByLength usual;
  usual.see(min(0));
  for (int i = 1; i <= 200; ++i) usual.add(min(100 * i), 10);  // one in ten minutes of a hundred is there
  EXPECT_NEAR(peers_present(usual, 10), 0.1, 0.1);
}

TEST(Room, PeersSufferMoreTheFewerSlotsAreLeft) {
  const std::array<PeerSize, 3> sizes{{{7, 1}, {3, 1.5}, {1, 3}}};
  const Peers peers{4, 60, sizes, kSlots};
  double before = 0;
  for (double open = peers.most_slots(); open >= 0; open -= 1) {
    const double now = peers.minutes(open);
    EXPECT_GE(now, before) << open << " slots";
    before = now;
  }
  EXPECT_EQ(peers.minutes(peers.most_slots()), peers.minutes(peers.most_slots() + 100));
  EXPECT_GT(peers.minutes(5), peers.minutes(50));
}

}  // namespace
}  // namespace smartmig
