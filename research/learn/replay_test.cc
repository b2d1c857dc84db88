#include "research/learn/replay.h"

#include <gtest/gtest.h>

#include <set>

namespace smartmig {
namespace {

// One environment; call i has the state {i}, the action i % 5 and the reward i + 1.
void add_calls(Replay& replay, std::size_t first, std::size_t calls, std::size_t done_at, std::size_t cut_at) {
  for (std::size_t i = first; i < first + calls; ++i) {
    const float raw = float(i);
    replay.add(0, {&raw, 1}, std::uint8_t(i % 5), float(i + 1), i == done_at, i == cut_at);
  }
}

TEST(Replay, SumsNRewardsAndStopsAtTheEndOfADay) {
  Replay replay(1, 16, 1, 3);
  EXPECT_FALSE(replay.can_draw());
  add_calls(replay, 0, 12, 5, 99);
  ASSERT_TRUE(replay.can_draw());
  Rng rng(1, 1);
  std::set<float> drawn;
  for (int i = 0; i < 400; ++i) {
    const Replay::Sample s = replay.draw(rng, 0.5);
    const float call = replay.raw(s.at)[0];
    drawn.insert(call);
    EXPECT_EQ(replay.action(s.at), int(call) % 5);
    double want = 0, discount = 1;
    bool ended = false;
    for (int k = int(call); k < int(call) + 3 && !ended; ++k) {
      want += discount * (k + 1);
      discount *= 0.5;
      ended = k == 5;
    }
    EXPECT_DOUBLE_EQ(s.reward, want) << call;
    EXPECT_DOUBLE_EQ(s.discount, ended ? 0 : discount) << call;
    if (!ended) {
      EXPECT_EQ(replay.raw(s.after)[0], call + 3);
    }
  }
  // Those whose third next call is there: 0 to 8.
  EXPECT_EQ(drawn, (std::set<float>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Replay, ForgetsTheOldestAndNeverDrawsAcrossACut) {
  Replay replay(1, 8, 1, 2);
  add_calls(replay, 0, 20, 99, 15);
  Rng rng(2, 1);
  std::set<float> drawn;
  for (int i = 0; i < 400; ++i) drawn.insert(replay.raw(replay.draw(rng, 0.9).at)[0]);
  // 12 to 19 are kept; 18 and 19 have no state two calls later; 14 and 15 have the cut among their two rewards.
  EXPECT_EQ(drawn, (std::set<float>{12, 13, 16, 17}));
}

TEST(Replay, TellsTheLastRewardsInOrder) {
  Replay replay(2, 4, 1, 1);
  add_calls(replay, 0, 6, 4, 99);
  const auto last = replay.last_rewards(0, 3);
  ASSERT_EQ(last.size(), 3u);
  EXPECT_EQ(last[0].reward, 4);
  EXPECT_EQ(last[1].reward, 5);
  EXPECT_TRUE(last[1].ends);
  EXPECT_FALSE(last[2].ends);
  EXPECT_TRUE(replay.last_rewards(1, 3).empty());
}

}  // namespace
}  // namespace smartmig
