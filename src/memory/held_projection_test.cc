#include "memory/held_projection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"

namespace smartmig {
namespace {

constexpr HeldRoom kTwoGib{2048, 40};

HeldForecast forecast_of(const HeldProjection& held, double end, const HeldRoom& room = kTwoGib) {
  return held.forecast(held.ways(), room, end);
}

template <class Held>
HeldProjection seen(int steps, Held held) {
  HeldProjection out;
  for (int i = 1; i <= steps; ++i) out.add(i, held(i));
  return out;
}

TEST(HeldProjection, ALineGoesOnToItsEnd) {
  const HeldProjection line = seen(20, [](int i) { return 500 + 10.0 * i; });
  const HeldForecast passes = forecast_of(line, 300);
  EXPECT_GT(passes.probability, 0.75) << "what a restart asks for";
  EXPECT_NEAR(passes.needs_mib, 3500, 300);
  EXPECT_NEAR(passes.after, 135, 20);
  EXPECT_LT(forecast_of(line, 120).probability, 0.05) << "1700 MiB at its end";
}

TEST(HeldProjection, APlateauAfterTheFirstStepsStaysOne) {
  const HeldProjection flat = seen(40, [](int i) { return 900 + 200.0 * std::min(i, 3); });
  EXPECT_LT(forecast_of(flat, 4000).probability, 0.05);
}

TEST(HeldProjection, StagesGoOnThoughTheLastOneIsLevel) {
  const auto stage = [](int i) { return 600 + 300.0 * (i / 10); };
  EXPECT_GT(forecast_of(seen(38, stage), 80).probability, 0.7) << "3000 MiB in the last stage";
  EXPECT_LT(forecast_of(seen(38, stage), 43).probability, 0.3) << "one more stage: 1800 MiB";
}

TEST(HeldProjection, WhatIsOverdueHasStopped) {
  const auto until_30 = [](int i) { return 600 + 300.0 * (std::min(i, 30) / 10); };
  EXPECT_GT(forecast_of(seen(35, until_30), 100).probability, 0.7);
  EXPECT_LT(forecast_of(seen(75, until_30), 200).probability, 0.15);
}

TEST(HeldProjection, TheLargestOfDrawsGrowsEverMoreSlowly) {
  int feared = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    double most = 0;
    const HeldProjection draws = seen(100, [&](int) { return most = std::max(most, 800 + 100 * rng.normal()); });
    feared += forecast_of(draws, 1000, {1500, 20}).probability > 0.75;
  }
  EXPECT_LE(feared, 1) << "1200 MiB at the most";
}

TEST(HeldProjection, AnyNumberOfRisesIsKeptInLittleRoom) {
  const HeldProjection line = seen(5000, [](int i) { return 100 + 0.5 * i; });
  EXPECT_LE(line.rises().size(), 2 * HeldProjection::kMost);
  EXPECT_EQ(line.work(), 5000);
  EXPECT_GT(forecast_of(line, 5000).probability, 0.95) << "2600 MiB are there";
  EXPECT_LT(forecast_of(line, 5100, {2800, 20}).probability, 0.05);
}

TEST(HeldProjection, WhatFallsIsIgnored) {
  HeldProjection held;
  held.add(5, 500);
  held.add(4, 600);
  held.add(6, 400);
  EXPECT_EQ(held.work(), 5);
  EXPECT_EQ(held.held_mib(), 500);
}

TEST(HeldProjection, APassGoesOnToItsEnd) {
  HeldProjection pass;
  pass.add(0, 1200);
  EXPECT_LT(pass.within_pass(kTwoGib, 6).probability, 0.01);
  pass.add(2, 1500);
  pass.add(3, 1700);
  EXPECT_GT(pass.within_pass(kTwoGib, 6).probability, 0.8) << "200 MiB each, three to come";
  EXPECT_LT(pass.within_pass(kTwoGib, 4).probability, 0.2);
}

}  // namespace
}  // namespace smartmig
