// Learning about commands with random curves: the belief narrows with runs, a second size nearly settles it,
// predictions beat the fixed rule, a change is noticed. Any history is stored and reread unchanged and gives possible
// times.
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "queue/learning/history.h"
#include "research/papers/learning_curves.h"
#include "support/cases.h"

namespace smartmig {
namespace {

constexpr ForecastQuestion kSeven{7, {}};

PastRun run_of(const SyntheticCommand& command, int slices, double factor = 1) {
  PastRun run;
  run.ran_s = command.seconds_on(slices) * factor;
  run.slices = slices;
  run.of = 7;
  return run;
}

double mean_sd(const Forecast& known) {
  double sum = 0;
  for (const int k : kLearningSizes) sum += known.sizes[std::size_t(k - 1)].sd / double(kLearningSizes.size());
  return sum;
}

double mean_error(const SyntheticCommand& command, const Forecast& known) {
  double sum = 0;
  for (const int k : kLearningSizes)
    sum +=
        std::abs(std::log(known.sizes[std::size_t(k - 1)].s / command.seconds_on(k))) / double(kLearningSizes.size());
  return sum;
}

TEST(LearningProperty, BeliefNarrows) {
  double after_one = 0, after_two = 0, error_one = 0, error_two = 0;
  const int cases = smartmig::cases(40);
  for (int seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(seed);
    const SyntheticCommand command = synthetic_commands(std::uint64_t(seed) + 1, 1, true)[0];
    Rng rng(std::uint64_t(seed), 3);
    const CommandKey key{command.name, {}};
    History history;
    const std::size_t first = rng.below(kLearningSizes.size()),
                      second = (first + 1 + rng.below(kLearningSizes.size() - 1)) % kLearningSizes.size();
    history.add(key, run_of(command, kLearningSizes[first], rng.lognormal(0, 0.03)));
    const Forecast one = history.forecast(key, kSeven);
    history.add(key, run_of(command, kLearningSizes[second], rng.lognormal(0, 0.03)));
    const Forecast two = history.forecast(key, kSeven);
    after_one += mean_sd(one), after_two += mean_sd(two);
    error_one += mean_error(command, one), error_two += mean_error(command, two);
    for (int i = 0; i < 12; ++i)
      history.add(key, run_of(command, kLearningSizes[rng.below(kLearningSizes.size())], rng.lognormal(0, 0.03)));
    const Forecast many = history.forecast(key, kSeven);
    EXPECT_LT(mean_sd(many), mean_sd(one));
    EXPECT_LT(mean_error(command, many), 0.12);
    EXPECT_EQ(history.changes(command.name), 0) << "noise is no change";
    for (const int k : kLearningSizes) EXPECT_GE(one.sizes[std::size_t(k - 1)].teaches, 0);
  }
  EXPECT_LT(after_two, 0.7 * after_one) << "a second size nearly settles it";
  EXPECT_LT(error_two, 0.6 * error_one);
}

TEST(LearningProperty, ARunOnAnotherSizeTeachesMore) {
  const int cases = smartmig::cases(20);
  for (int seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(seed);
    const SyntheticCommand command = synthetic_commands(std::uint64_t(seed) + 500, 1)[0];
    History history;
    const CommandKey key{command.name, {}};
    for (int i = 0; i < 3; ++i) history.add(key, run_of(command, 1));
    const Forecast known = history.forecast(key, kSeven);
    EXPECT_GT(known.sizes[6].teaches, known.sizes[0].teaches);
    EXPECT_LE(known.sizes[6].teaches, 0.02 + 1e-12);
    for (int i = 0; i < 4; ++i)
      for (const int k : kLearningSizes) history.add(key, run_of(command, k));
    EXPECT_LT(history.forecast(key, kSeven).sizes[6].teaches, 0.003) << "nothing is left to be learned";
  }
}

TEST(LearningProperty, ChangesAreNoticed) {
  const int cases = smartmig::cases(40);
  for (int seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(seed);
    const SyntheticCommand command = synthetic_commands(std::uint64_t(seed) + 900, 1)[0];
    Rng rng(std::uint64_t(seed), 5);
    History history;
    const CommandKey key{command.name, {}};
    const auto run = [&](double factor) {
      history.add(key, run_of(command, kLearningSizes[rng.below(2)], factor * rng.lognormal(0, 0.02)));
    };
    for (int i = 0; i < 10; ++i) run(1);
    const double factor = rng.below(2) == 0 ? 1.8 : 1 / 1.8;
    for (int i = 0; i < 4; ++i) run(factor);
    EXPECT_GE(history.changes(command.name), 1);
    EXPECT_NEAR(std::log(history.forecast(key, kSeven).sizes[0].s / (command.seconds_on(1) * factor)), 0, 0.15);
  }
}

TEST(LearningProperty, WhateverWasSeenIsStoredAndReadAlike) {
  const int cases = smartmig::cases(40);
  for (int seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(std::uint64_t(seed), 7);
    const BoardSharing sharing{rng.below(2) == 0, rng.uniform(1, 9)};
    History history(CurveSet::builtin(), sharing), same(CurveSet::builtin(), sharing);
    for (int i = 0; i < 60; ++i) {
      CommandKey key{"p" + std::to_string(rng.below(3)) + " x" + std::to_string(rng.below(3)), {}};
      for (double& number : key.numbers) number = rng.below(2) == 0 ? 0 : rng.uniform(-20, 20);
      PastRun run;
      run.ran_s = rng.below(8) == 0 ? rng.uniform(-1, 1e-9) : rng.lognormal(0, 6);
      run.of = rng.below(4) == 0 ? 4 : 7;
      run.slices = 1 + int(rng.below(std::uint64_t(run.of)));
      run.load = rng.uniform(-0.5, 1.5);
      run.launch_s = rng.below(2) == 0 ? -1 : rng.lognormal(0, 2);
      run.peak_mib = int(rng.below(3)) * 1000 - 1;
      run.ended = from_unix_us(std::int64_t(rng.below(1u << 30)) * 1'000'000);
      history.add(key, run);
      same.add(key, run);
      const Forecast known = history.forecast(key, {rng.below(2) == 0 ? 7 : 4, {}});
      same.forecast(key, kSeven);
      if (!known.whole_s) continue;
      for (int k = 0; k < 4; ++k) {
        const SizeForecast& size = known.sizes[std::size_t(k)];
        ASSERT_TRUE(std::isfinite(size.s) && size.s > 0 && std::isfinite(size.high_s) && size.low_s <= size.high_s);
      }
    }
    EXPECT_EQ(same.to_json(), history.to_json()) << "the same runs, the same bytes";
    auto read = History::parse("history", history.to_json());
    ASSERT_TRUE(bool(read)) << read.error().what;
    EXPECT_EQ(read->to_json(), history.to_json());
  }
}

}  // namespace
}  // namespace smartmig
