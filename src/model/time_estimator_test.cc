#include "model/time_estimator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"

namespace smartmig {
namespace {

using Groups = std::vector<std::string>;
const Groups kTrain{"", "train"}, kInfer{"", "infer"}, kNew{"", "new"};

// Two kinds: trainings of nearly one length, requests of any.
struct World {
  Rng rng{7};
  double noise = 0, bias = 0;
  TimeEstimator estimator;
  double truth(bool train) { return train ? 4 + 0.12 * rng.normal() : 1 + 1.3 * rng.normal(); }
  double told(double truth) { return truth + bias + noise * rng.normal(); }
  void learn(int runs) {
    for (int i = 0; i < runs; ++i) {
      const bool train = i % 2 == 0;
      const double t = truth(train);
      estimator.learn(train ? kTrain : kInfer, told(t), t);
    }
  }
};

TEST(TimeEstimator, AStrangerIsBelievedWithinAFactorOfTwo) {
  const BelievedTime belief = TimeEstimator().believe(kNew, 5.0);
  EXPECT_EQ(belief.log_median, 5.0);
  EXPECT_NEAR(belief.spread, 0.7, 0.01);
  EXPECT_GT(TimeEstimator().believe(kNew, {}).spread, 1);
}

TEST(TimeEstimator, ExactTimesAreBelieved) {
  World world;
  world.learn(400);
  for (const double told : {2.0, 4.5}) {
    const BelievedTime belief = world.estimator.believe(kInfer, told);
    EXPECT_NEAR(belief.log_median, told, 0.02);
    EXPECT_LT(belief.spread, 0.15);
  }
}

TEST(TimeEstimator, WeighsWhatIsToldAndWhatItsLikeTakesByTheirPrecision) {
  World world;
  world.noise = 0.69;
  world.learn(4000);
  // Precision of the told time 1 / 0.69^2; of the kind 1 / 0.12^2 and 1 / 1.3^2.
  const auto mix = [](double told, double mean, double sd) {
    const double a = 1 / (0.69 * 0.69), b = 1 / (sd * sd);
    return (a * told + b * mean) / (a + b);
  };
  EXPECT_NEAR(world.estimator.believe(kTrain, 5.0).log_median, mix(5, 4, 0.12), 0.05);
  EXPECT_NEAR(world.estimator.believe(kTrain, 5.0).spread, 0.12, 0.03);
  EXPECT_NEAR(world.estimator.believe(kInfer, 3.0).log_median, mix(3, 1, 1.3), 0.1);
  EXPECT_NEAR(world.estimator.believe(kInfer, 3.0).spread, 0.61, 0.05);
}

TEST(TimeEstimator, AConstantFactorIsTakenOff) {
  World world;
  world.bias = std::log(3.0);
  world.learn(400);
  EXPECT_NEAR(world.estimator.believe(kInfer, 3.0).log_median, 3 - std::log(3.0), 0.05);
}

TEST(TimeEstimator, WhatIsToldAlikeOfAllTellsNothing) {
  TimeEstimator estimator;
  Rng rng(3);
  for (int i = 0; i < 500; ++i) {
    estimator.learn(kTrain, 3.0, 4 + 0.12 * rng.normal());
    estimator.learn(kInfer, 3.0, 1 + 1.3 * rng.normal());
  }
  EXPECT_NEAR(estimator.believe(kTrain, 3.0).log_median, 4, 0.05);
  EXPECT_NEAR(estimator.believe(kInfer, 3.0).log_median, 1, 0.2);
  EXPECT_NEAR(estimator.believe(kInfer, 3.0).spread, 1.3, 0.12);
}

TEST(TimeEstimator, LearnsWhatNobodyTellsByGroupAndTheGeneralForNewOnes) {
  TimeEstimator estimator;
  for (int i = 0; i < 50; ++i) estimator.learn(kTrain, {}, 9.0);
  EXPECT_NEAR(estimator.believe(kTrain, {}).log_median, 9, 0.1);
  EXPECT_NEAR(estimator.believe(kNew, {}).log_median, 9, 0.1);
  EXPECT_EQ(estimator.believe(kNew, 2.0).log_median, 2.0) << "what is told is another matter";
}

TEST(TimeEstimator, IsReadAsItWasWritten) {
  World world;
  world.noise = 0.5;
  world.bias = -0.7;
  world.learn(50);
  world.estimator.learn(kNew, {}, 3);
  const auto again = TimeEstimator::parse("stored", world.estimator.to_json(), {});
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->to_json(), world.estimator.to_json());
  for (const Groups& groups : {kTrain, kInfer, kNew})
    for (const std::optional<double> told : {std::optional(2.0), std::optional<double>()}) {
      EXPECT_EQ(again->believe(groups, told).log_median, world.estimator.believe(groups, told).log_median);
      EXPECT_EQ(again->believe(groups, told).spread, world.estimator.believe(groups, told).spread);
    }
}

TEST(TimeEstimator, WhatCannotBeIsNotRead) {
  const auto complaint = [](const char* told) {
    const auto read =
        TimeEstimator::parse("stored", fmt::format(R"({{"smartmig_times":1,"told":[{}],"untold":[]}})", told), {});
    return read ? std::string() : read.error().what;
  };
  EXPECT_EQ(complaint(R"(["a",2,1,0.5,1,0.1,1])"), "");
  EXPECT_NE(complaint(R"(["a",2,1,0.5,1,3,1])").find("cannot be together"), std::string::npos);
  EXPECT_NE(complaint(R"(["a",2,1,0.5,-1,0,1])").find("cannot be"), std::string::npos);
  EXPECT_NE(complaint(R"(["a",2,1,0.5,1,0])").find("6 figures"), std::string::npos);
  EXPECT_NE(complaint(R"(["a",2,1,0.5,1,0,1],["a",2,1,0.5,1,0,1])").find("twice"), std::string::npos);
  EXPECT_FALSE(TimeEstimator::parse("stored", R"({"smartmig_times":2,"told":[],"untold":[]})", {}));
}

TEST(TimeEstimator, WhatIsToldOfNothingIsAsUsualUntilItIsKnownBetter) {
  TimeEstimator estimator;
  EXPECT_NEAR(estimator.believe(kNew, {}, 3.0).log_median, 3, 1e-12);
  for (int i = 0; i < 200; ++i) estimator.learn(kNew, {}, 8);
  for (const double usual : {3.0, 6.0}) EXPECT_NEAR(estimator.believe(kNew, {}, usual).log_median, 8, 0.1);
}

TEST(TimeEstimator, ACutRunTeachesThatItsLikeTakesLonger) {
  TimeEstimator estimator, finished;
  for (int i = 0; i < 20; ++i) {
    estimator.learn_cut(kNew, 5.0, 6.0);
    finished.learn(kNew, 5.0, 6.0);
  }
  EXPECT_GT(estimator.believe(kNew, 5.0).log_median, finished.believe(kNew, 5.0).log_median);
  EXPECT_GT(estimator.believe(kNew, 5.0).log_median, 5.9);
  EXPECT_LT(estimator.believe(kNew, 5.0).log_median, 8);
}

TEST(TimeEstimator, OldRunsFadeAndOldGroupsGo) {
  TimeEstimator bounded({50, 8}), all;
  for (int i = 0; i < 400; ++i)
    for (TimeEstimator* estimator : {&bounded, &all}) estimator->learn(kNew, 5.0, i < 200 ? 4.0 : 6.0);
  EXPECT_GT(bounded.believe(kNew, 5.0).log_median, 5.9);
  EXPECT_LT(all.believe(kNew, 5.0).log_median, 5.2);
  for (int i = 0; i < 40; ++i) bounded.learn(Groups{std::to_string(i)}, 5.0, 6.0);
  EXPECT_NEAR(bounded.believe(Groups{"0"}, 5.0).spread, TimeEstimator().believe(Groups{"0"}, 5.0).spread, 1e-12);
  EXPECT_GT(bounded.believe(Groups{"39"}, 5.0).log_median, 5.2);
}

TEST(TimeEstimator, JobsThatStillRunAreEvidence) {
  const TimeEstimator fresh;
  std::vector<TimeEstimator::Running> running;
  double last = fresh.believe(kTrain, {}).log_median;
  for (int minutes = 1; minutes <= 20; ++minutes) {
    running.push_back({kTrain, {}, std::log(60.0 * minutes)});
    const double now = fresh.believe(kTrain, {}, TimeEstimator::kUntold, running).log_median;
    EXPECT_GT(now, last) << "none of " << minutes << " has ended";
    last = now;
  }
  EXPECT_GT(last, std::log(3600.0)) << "twenty that run for up to twenty minutes";
  EXPECT_LT(last, std::log(86400.0 * 7));
  const BelievedTime other = fresh.believe(kInfer, {}, TimeEstimator::kUntold, running);
  EXPECT_GE(other.spread, fresh.believe(kInfer, {}).spread) << "another kind may take another time altogether";
  EXPECT_EQ(fresh.believe(kTrain, 5.0, TimeEstimator::kUntold, running).log_median, 5.0)
      << "of told times they say nothing";
  // Told a minute, they run for an hour.
  std::vector<TimeEstimator::Running> overrun(5, {kTrain, std::log(60.0), std::log(3600.0)});
  EXPECT_GT(fresh.believe(kTrain, std::log(60.0), TimeEstimator::kUntold, overrun).log_median, std::log(1800.0));
  EXPECT_EQ(fresh.believe(kInfer, std::log(60.0), TimeEstimator::kUntold, overrun).log_median, std::log(60.0))
      << "what is told of another kind stays";
}

TEST(TimeEstimator, WhereManyRunsEndedRunningJobsSayNoMore) {
  TimeEstimator estimator;
  const std::vector<TimeEstimator::Running> running(50, {kTrain, {}, 9.0});
  for (int i = 0; i < 40; ++i) {
    const BelievedTime plain = estimator.believe(kTrain, {}),
                       with = estimator.believe(kTrain, {}, TimeEstimator::kUntold, running);
    if (i < TimeEstimator::kFewRuns)
      EXPECT_GT(with.log_median, plain.log_median) << i;
    else
      EXPECT_EQ(with.log_median, plain.log_median) << i;
    estimator.learn(kTrain, {}, 5 + 0.01 * (i % 7));
  }
}

}  // namespace
}  // namespace smartmig
