#include "model/run_quantiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.h"

namespace smartmig {
namespace {

double mean_of(const RunQuantiles& q) {
  double sum = 0;
  for (const double value : q.of_mean) sum += value;
  return sum / kRunQuantiles;
}

TEST(RunQuantiles, OfAWholeRunAreTheLognormalsAroundItsMedian) {
  const RunQuantiles q = left_of_run(0.69, 0);
  EXPECT_NEAR(q.of_mean[3] * q.mean, 1, 1e-6);  // the middle one is the median
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(q.of_mean[std::size_t(i)] * q.of_mean[std::size_t(6 - i)] * q.mean * q.mean, 1, 1e-6);
  EXPECT_NEAR(q.of_mean[6] * q.mean, std::exp(0.69 * 1.4652), 1e-3);
  EXPECT_NEAR(mean_of(q), 1, 1e-12);
}

TEST(RunQuantiles, AtOneShareOfTheCasesItIsTheSame) {
  for (const double done : {0.0, 0.7, 3.0, 400.0}) {
    const RunQuantiles q = left_of_run(0.69, done);
    for (int i = 0; i < kRunQuantiles; ++i)
      EXPECT_NEAR(left_of_run_at(0.69, done, (2 * i + 1) / (2.0 * kRunQuantiles)), q.of_mean[std::size_t(i)] * q.mean,
                  1e-12);
  }
  EXPECT_EQ(left_of_run_at(0.69, 0, 0.5), 1);
}

TEST(RunQuantiles, WhatIsLeftIsThatOfTheRunsThatAreLonger) {
  const double spread = 0.8, done = 1.5;
  Rng rng(1);
  std::vector<double> left;
  while (left.size() < 40'000)
    if (const double length = std::exp(spread * rng.normal()); length > done) left.push_back(length - done);
  std::sort(left.begin(), left.end());
  const RunQuantiles q = left_of_run(spread, done);
  for (int i = 0; i < kRunQuantiles; ++i) {
    const double seen = left[left.size() * std::size_t(2 * i + 1) / (2 * kRunQuantiles)];
    EXPECT_NEAR(q.of_mean[std::size_t(i)] * q.mean, seen, 0.05 * seen) << i;
  }
}

TEST(RunQuantiles, MoreIsLeftOfALongTailTheLongerItHasRun) {
  double before = 0;
  for (double done = 1; done < 40; done *= 1.25) {
    const RunQuantiles q = left_of_run(1.1, done);
    EXPECT_GT(q.mean, before) << done;
    EXPECT_TRUE(std::is_sorted(q.of_mean.begin(), q.of_mean.end()));
    EXPECT_NEAR(mean_of(q), 1, 1e-9);
    before = q.mean;
  }
}

TEST(RunQuantiles, ARunBeyondAllLengthsHasHalfOfWhatItRanLeft) {
  EXPECT_NEAR(left_of_run(0.05, 2).mean, 1, 0.1);
  EXPECT_NEAR(left_of_run(0.35, 10).mean, 5, 0.5);
  EXPECT_LT(left_of_run(0.05, 1.1).mean, 0.1);
}

}  // namespace
}  // namespace smartmig
