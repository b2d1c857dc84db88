#include "memory/memory_projection.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/rng.h"

namespace smartmig {
namespace {

MemoryProjection watched(const std::function<double(double)>& mib, double until, double every = 1, double noise = 0) {
  MemoryProjection p;
  Rng rng(5);
  for (double t = every; t <= until; t += every) p.add(t, std::max(0.0, mib(t) + noise * rng.normal()));
  return p;
}

// The first time a restart is advised, or -1.
double restarted_at(const std::function<double(double)>& mib, double until, double limit, double expected,
                    double restart_s = 30) {
  MemoryProjection p;
  for (double t = 1; t <= until; ++t) {
    p.add(t, mib(t));
    if (p.verdict(limit, expected, {restart_s, t, t}).restart) return t;
  }
  return -1;
}

TEST(MemoryProjection, APlateauStaysAndItsNoiseIsSmall) {
  for (const double noise : {0.0, 20.0}) {
    const auto f = watched([](double) { return 4000; }, 300, 1, noise).forecast(3600);
    EXPECT_NEAR(f.quantile(0.5), f.seen_mib(), 60);
    EXPECT_NEAR(f.quantile(0.9), f.seen_mib(), 150);
    EXPECT_LT(f.passing(4864).probability, 0.02);
  }
}

TEST(MemoryProjection, SteadyGrowthReachesWhereItLeads) {
  const auto line = [](double t) { return 1000 + 5 * t; };
  const auto f = watched(line, 400).forecast(1000);
  EXPECT_NEAR(f.quantile(0.5), line(1000), 0.15 * line(1000));
  EXPECT_GT(f.quantile(0.9), f.quantile(0.5));
  const Passing passing = f.passing(4000);  // after 600 s
  EXPECT_GT(passing.probability, 0.6);
  EXPECT_NEAR(passing.after_s, 200, 60);
  EXPECT_LT(f.passing(20000).probability, 0.05);
}

TEST(MemoryProjection, ALeakIsSeenLongBeforeItFails) {
  const double at = restarted_at([](double t) { return 3000 + 1.2 * t; }, 3600, 4864, 3600);
  EXPECT_GT(at, 60);
  EXPECT_LT(at, 1500);                                                                     // it would fail at 3107 s
  EXPECT_EQ(restarted_at([](double t) { return 3000 + 0.3 * t; }, 3600, 4864, 3600), -1);  // 4080 at the end
}

TEST(MemoryProjection, ASaturatingCacheIsLetRun) {
  const auto fill = [](double t) { return 1000 + 3000 * (1 - std::exp(-t / 300)); };
  EXPECT_LT(watched(fill, 900).forecast(3600).quantile(0.9), 4600);
  for (const double t : {400.0, 600.0, 900.0, 2000.0})
    EXPECT_FALSE(watched(fill, t).forecast(3600).weigh(4864, {30, t, t}).restart) << t;
}

TEST(MemoryProjection, WarmUpIsNotALeak) {
  const auto load = [](double t) { return std::min(4000.0, 300 + 400 * t); };
  EXPECT_EQ(restarted_at(load, 1800, 4864, 3600, 60), -1);
}

TEST(MemoryProjection, ASingleSpikeStartsNothing) {
  const auto spike = [](double t) { return t == 200 || t == 777 ? 4700.0 : 3000.0; };
  EXPECT_EQ(restarted_at(spike, 1800, 4864, 1800), -1);
  const auto f = watched(spike, 300).forecast(1800);
  EXPECT_EQ(f.seen_mib(), 4700);  // but the peak that was seen counts
  EXPECT_GE(f.quantile(0.5), 4700);
}

TEST(MemoryProjection, ResetsOfACacheDoNotAddUp) {
  const auto teeth = [](double t) { return 2000 + 2000 * (t / 100 - std::floor(t / 100)); };
  const auto f = watched(teeth, 600).forecast(3600);
  EXPECT_LT(f.quantile(0.9), 4400);
  EXPECT_LT(f.passing(4864).probability, 0.1);
}

TEST(MemoryProjection, AStaircaseIsGrowth) {
  const auto steps = [](double t) { return 1000 + 400 * std::floor(t / 60); };
  EXPECT_GT(watched(steps, 600).forecast(3000).passing(9856).probability, 0.2);  // 21000 at the end
  const double at = restarted_at(steps, 1800, 9856, 1800);
  EXPECT_GT(at, 60);
  EXPECT_LT(at, 1200);
}

TEST(MemoryProjection, GapsDisorderAndNonsenseAreNoHarm) {
  MemoryProjection p;
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(), -5.0}) {
    p.add(bad, 100);
    p.add(1, bad);
  }
  EXPECT_EQ(p.samples(), 0);
  EXPECT_LT(p.forecast(100).quantile(0.9), 10);
  Rng rng(3);
  for (double t = 1; t < 5000; t += 1 + double(rng.below(60))) {
    p.add(t, 1000 + t / 2);
    p.add(t - 0.5, 90000);  // out of order
  }
  const auto f = p.forecast(10000);
  EXPECT_NEAR(f.quantile(0.5), 6000, 900);
  for (const double expected : {-1.0, 0.0, 1.0, 1e9}) {
    const auto g = p.forecast(expected);
    EXPECT_GE(g.quantile(0.5), 3400);
    EXPECT_LE(g.quantile(0.5), g.quantile(0.9));
    EXPECT_TRUE(std::isfinite(g.quantile(0.99)));
  }
}

TEST(MemoryProjection, ProbabilityFallsWithTheLimitAndIsOneWhereItWasPassed) {
  const auto f = watched([](double t) { return 1000 + 3 * t; }, 300, 1, 10).forecast(0);
  EXPECT_EQ(f.passing(f.seen_mib() - 1).probability, 1);
  double last = 1;
  for (double limit = f.seen_mib(); limit < 40000; limit += 500) {
    const double p = f.passing(limit).probability;
    EXPECT_LE(p, last + 1e-9);
    EXPECT_GE(p, 0);
    last = p;
  }
}

TEST(MemoryProjection, ALineToTheKnownEndIsSureAfterTenSamples) {
  const auto at = [](const std::function<double(double)>& mib, double limit, double expected) {
    MemoryProjection p;
    for (double t = 2; t <= 600; t += 2) {
      p.add(t, mib(t));
      if (const RestartVerdict v = p.line_verdict(limit, expected); v.restart) {
        EXPECT_GT(v.needs_mib, limit);
        return t;
      }
    }
    return -1.0;
  };
  const auto decoding = [](double t) { return 3000 + 5 * t; };  // to 6000 MiB after 600 s
  EXPECT_NEAR(at(decoding, 4864, 600), 20, 2);
  EXPECT_EQ(at(decoding, 6100, 600), -1) << "it fits";
  EXPECT_EQ(at(decoding, 4864, 0), -1) << "no end is known";
  const auto loading = [](double t) { return std::min(t / 6, 1.0) * 4000; };
  EXPECT_EQ(at(loading, 4864, 600), -1) << "the weights are in";
}

TEST(MemoryProjection, ACheckpointMakesRestartingCheap) {
  const auto p = watched([](double t) { return 1000 + 2 * t; }, 600);
  const auto f = p.forecast(1500);
  const RestartVerdict lost = f.weigh(3200, {30, 600, 600}), kept = f.weigh(3200, {30, 0, 600});
  EXPECT_EQ(lost.passing.probability, kept.passing.probability);
  EXPECT_GT(lost.cost_now_s, kept.cost_now_s + 599);
  EXPECT_TRUE(kept.restart);
  EXPECT_GT(kept.needs_mib, 3200);
}

TEST(MemoryProjection, AMillionSamplesTakeNoMoreRoomThanAHundred) {
  MemoryProjection p;
  for (int i = 1; i <= 1'000'000; ++i) p.add(i * 0.5, 2000 + i * 0.001);
  EXPECT_EQ(p.samples(), 1'000'000);
  EXPECT_NEAR(p.forecast(1e6).quantile(0.5), 4000, 500);
}

}  // namespace
}  // namespace smartmig
