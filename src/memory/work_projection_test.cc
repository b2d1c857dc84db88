#include "memory/work_projection.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"

namespace smartmig {
namespace {

double in_steps(double held) { return std::ceil(held / 20) * 20; }

WorkSample seen_at(double at_s, double device_mib) {
  WorkSample s;
  s.at_s = at_s;
  s.device_mib = device_mib;
  return s;
}
WorkSample decoding(int tokens, double end) {  // 1000 MiB and 2 MiB a token, one a second
  WorkSample s = seen_at(tokens, in_steps(1000 + 2.0 * tokens));
  s.size = s.done = tokens;
  s.size_max = s.of = end;
  return s;
}
RestartCosts costs_at(double at) { return {30, at, at}; }

TEST(WorkProjection, ADecoderIsRestartedLongBeforeItsSliceIsFull) {
  WorkProjection work;
  RestartVerdict verdict;
  int tokens = 1;
  for (; tokens < 2000 && !verdict.restart; tokens += 10) {
    work.add(decoding(tokens, 4000));
    verdict = work.verdict(5000, 0, costs_at(tokens));
  }
  ASSERT_TRUE(verdict.restart);
  EXPECT_LT(tokens, 400) << "a tenth of its work is enough";
  EXPECT_NEAR(verdict.needs_mib, 9000, 1500);
}

TEST(WorkProjection, WhatFitsIsLeftAlone) {
  WorkProjection work;
  for (int tokens = 1; tokens < 4000; tokens += 10) {
    work.add(decoding(tokens, 4000));
    ASSERT_FALSE(work.verdict(9984, 0, costs_at(tokens)).restart) << tokens;
  }
}

TEST(WorkProjection, StagesGoOnAsTheyBegan) {
  WorkProjection work;
  RestartVerdict verdict;
  int step = 1;
  for (; step <= 800 && !verdict.restart; ++step) {
    WorkSample s = seen_at(step, 0);
    s.size = 128 * (1 + step / 100);  // to 1024 at step 700
    s.device_mib = in_steps(1000 + 4 * s.size);
    s.done = step;
    s.of = 800;
    work.set_allocator(AllocatorFamily::kPlain);
    work.add(s);
    verdict = work.verdict(4000, 0, costs_at(step));
  }
  ASSERT_TRUE(verdict.restart);
  EXPECT_LT(step, 350) << "it is full at 600";
}

// Lengths around 200 of at most `most`, 4 MiB each; 400 of 4000 are seen. True: it is restarted.
bool restarts_for_lengths(double most, std::uint64_t seed) {
  WorkProjection work;
  work.set_allocator(AllocatorFamily::kPlain);
  Rng rng(seed);
  double highest = 0;
  for (int step = 1; step < 400; ++step) {
    WorkSample s = seen_at(step, 0);
    s.size = std::min(most, std::round(200 * std::exp(0.5 * rng.normal())));
    s.size_max = most;
    highest = std::max(highest, in_steps(1000 + 4 * s.size));
    if (highest > 4500) return false;  // too late
    s.device_mib = highest;
    s.done = step;
    s.of = 4000;
    work.add(s);
    if (work.verdict(4500, 0, costs_at(step)).restart) return true;
  }
  return false;
}

TEST(WorkProjection, TheLongestOfManyLengthsIsForeseenAndNeverAboveTheMost) {
  int restarted = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    restarted += restarts_for_lengths(4096, seed);
    EXPECT_FALSE(restarts_for_lengths(800, seed)) << "seed " << seed << ": 4200 MiB at the most";
  }
  EXPECT_GE(restarted, 15) << "one of 3600 further lengths passes 875";
}

TEST(WorkProjection, ASecondRunKnowsThePeak) {
  WorkProjection first;
  for (int second = 1; second < 1000; ++second) first.add(seen_at(second, in_steps(500 + 7.0 * second)));
  for (const double limit : {5000.0, 9984.0}) {
    WorkProjection second;
    second.remember(first.to_past(40'000));
    second.add(seen_at(1, 600));
    second.verdict(limit, 0, costs_at(1));
    second.add(seen_at(2, 620));
    EXPECT_EQ(second.verdict(limit, 0, costs_at(2)).restart, limit < 7500);
  }
}

TEST(WorkProjection, WhatIsTakenAtTheStartTellsNothing) {
  WorkProjection first;
  for (int second = 1; second < 1000; ++second) first.add(seen_at(second, 36'000));
  EXPECT_TRUE(first.to_past(40'000).fixed);
  WorkProjection second;
  second.remember(first.to_past(40'000));
  for (int at = 1; at < 100; ++at) {
    second.add(seen_at(at, 9000));
    EXPECT_FALSE(second.verdict(9984, 0, costs_at(at)).restart);
  }
}

TEST(WorkProjection, ImpossibleValuesAreIgnored) {
  WorkProjection work;
  work.add(seen_at(1, -5));
  work.add(seen_at(std::nan(""), 5));
  work.add(seen_at(2, 100));
  work.add(seen_at(1, 9000));
  EXPECT_LE(work.needs(5000, 0), 110);
}

TEST(WorkProjection, AnyWordsAreSurvived) {  // property: logs say what they like
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Rng rng(seed);
    WorkProjection work;
    if (rng.below(2)) work.set_allocator(AllocatorFamily(rng.below(5)));
    const auto any = [&] { return rng.below(4) ? double(rng.below(1 << (1 + rng.below(30)))) : -1; };
    for (int i = 1; i < 120; ++i) {
      WorkSample s = seen_at(i, double(rng.below(40'000)));
      s.held_mib = any();
      s.size = any();
      s.size_max = any();
      s.done = any();
      s.of = any();
      work.add(s);
      const RestartVerdict verdict = work.verdict(9984, any(), costs_at(i));
      ASSERT_GE(verdict.passing.probability, 0) << "seed " << seed;
      ASSERT_LE(verdict.passing.probability, 1.01) << "seed " << seed;
      ASSERT_FALSE(std::isnan(verdict.cost_go_on_s)) << "seed " << seed;
      ASSERT_FALSE(std::isnan(verdict.needs_mib)) << "seed " << seed;
      ASSERT_FALSE(std::isnan(work.needs(9984, 0))) << "seed " << seed;
    }
    work.to_past(40'000);
  }
}

// A server behind a cache that shows all it has from the start: 600 MiB and 12 a request, of 200.
WorkSample hidden_request(int i) {
  WorkSample s = seen_at(10 * i, 3900);
  s.done = i;
  s.of = 200;
  s.held_peak_mib = 600 + 12.0 * i;
  return s;
}

TEST(WorkProjection, WhatAFrameworkSaysIsSeenBehindItsCache) {
  WorkProjection asked, blind;
  int restarted_at = 0;
  for (int i = 1; i < 150 && !restarted_at; ++i) {
    asked.add(hidden_request(i));
    if (asked.verdict(2600, 0, costs_at(10 * i)).restart) restarted_at = i;
    WorkSample s = hidden_request(i);
    s.held_peak_mib = -1;
    blind.add(s);
    EXPECT_FALSE(blind.verdict(4000, 0, costs_at(10 * i)).restart) << i;
  }
  EXPECT_GT(restarted_at, 0);
  EXPECT_LT(restarted_at, 40) << "it is full at about 120";
}

TEST(WorkProjection, WhatFitsByItsFrameworkIsLeftAlone) {
  WorkProjection asked;
  for (int i = 1; i <= 200; ++i) {
    WorkSample s = hidden_request(i);
    s.device_mib = s.held_peak_mib + 450;
    asked.add(s);
    ASSERT_FALSE(asked.verdict(3800, 0, costs_at(10 * i)).restart) << i;
  }
}

TEST(WorkProjection, ProgressThatBeginsAnewIsNotThatOfTheRun) {
  WorkProjection work;
  for (int second = 1; second <= 60; ++second) {
    WorkSample s = seen_at(second, 1500);
    s.done = 1 + second % 10;  // of each document
    s.of = 10;
    s.held_peak_mib = 1000;
    work.add(s);
  }
  EXPECT_EQ(work.to_past(4000).end_done, -1);
  EXPECT_EQ(work.to_past(4000).held.of, 0);
}

TEST(WorkProjection, ASecondRunIsForetoldFromItsFirstSamples) {
  WorkProjection first;
  for (int i = 1; i <= 200; ++i) first.add(hidden_request(i));
  WorkProjection second;
  second.remember(first.to_past(4000));
  int i = 1;
  bool restart = false;
  for (; i < 10 && !restart; ++i) {
    second.add(hidden_request(i));
    restart = second.verdict(2600, 0, costs_at(10 * i)).restart;
  }
  EXPECT_TRUE(restart);
  EXPECT_LE(i, 4);
}

}  // namespace
}  // namespace smartmig
