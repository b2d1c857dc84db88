#include "memory/held_work.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smartmig {
namespace {

constexpr HeldRoom kTwoGibLeft{2048, 40};

HeldWork::Sample at_step(int step, int of, double held) {
  return {double(step), held, double(step), double(of), -1, 0};
}

// 500 MiB and 10 a request, one a second.
HeldRun served(int requests) {
  HeldWork work;
  for (int i = 1; i <= requests; ++i) work.add(at_step(i, requests, 500 + 10.0 * i));
  return work.to_past();
}

// Sixth parts of the run, each with 250 MiB more, however many steps it has.
HeldRun staged(int steps) {
  HeldWork work;
  for (int i = 1; i <= steps; ++i) work.add(at_step(i, steps, 500 + 250.0 * (6 * (i - 1) / steps)));
  return work.to_past();
}

double chance_of(const HeldWork& work, double times) {
  const auto found = work.forecast(kTwoGibLeft, {{times, 1}});
  return found ? found->probability : -1;
}

TEST(HeldWork, ItIsTooEarlyWithoutEarlierRunsAndNotWithThem) {
  HeldWork alone, knows;
  knows.remember(served(200));
  for (int i = 1; i <= 3; ++i) {
    alone.add(at_step(i, 200, 500 + 10.0 * i));
    knows.add(at_step(i, 200, 500 + 10.0 * i));
  }
  EXPECT_FALSE(alone.forecast(kTwoGibLeft, {{60, 1}}));
  EXPECT_GT(chance_of(knows, 60), 0.95) << "2500 MiB at its end, as before";
}

TEST(HeldWork, EarlierRunsTellWhetherMemoryFollowsTheCountOrTheShare) {
  HeldWork counts, stages;
  counts.remember(served(100));
  counts.remember(served(140));
  stages.remember(staged(60));
  stages.remember(staged(90));
  for (int i = 1; i <= 4; ++i) {
    counts.add(at_step(i, 200, 500 + 10.0 * i));
    stages.add(at_step(i, 200, 500));
  }
  EXPECT_GT(chance_of(counts, 50), 0.9) << "2500 MiB, though 1900 were the most so far";
  EXPECT_LT(chance_of(stages, 50), 0.1) << "1750 MiB, of however many steps";
}

TEST(HeldWork, ARunThatIsNotLikeTheEarlierOnesIsBelieved) {
  HeldWork work;
  work.remember(served(60));
  for (int i = 1; i <= 30; ++i) work.add(at_step(i, 60, 500 + 40.0 * i));
  EXPECT_GT(chance_of(work, 2), 0.75) << "2900 MiB at its end, 1100 in the earlier run";
}

TEST(HeldWork, AnEvaluationPassIsSeenThroughBeforeItsEnd) {
  HeldWork work;
  for (int i = 1; i <= 20; ++i) work.add(at_step(i, 100, 1200));
  EXPECT_LT(chance_of(work, 5), 0.05);
  HeldWork::Sample pass = at_step(20, 100, 1400);
  for (const double part : {1.0, 2.0, 3.0}) {
    pass.at_s += 1;
    pass.held_mib += 150;
    pass.part_done = part;
    pass.part_of = 8;
    work.add(pass);
  }
  EXPECT_GT(chance_of(work, 5), 0.75) << "150 MiB each, five to come";
}

TEST(HeldWork, APastRunGoesOnPastItsEndOnlyIfItRoseToIt) {
  EXPECT_NEAR(served(100).held_at(1.5), 2000, 60);
  HeldRun level;
  level.rises = {{0.01, 700}, {0.1, 900}};
  EXPECT_EQ(level.held_at(1.5), 900);
  EXPECT_EQ(level.held_at(0.05), 700);
}

}  // namespace
}  // namespace smartmig
