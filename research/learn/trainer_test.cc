#include "research/learn/trainer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smartmig {
namespace {

TrainConfig tiny() {
  TrainConfig config;
  config.gpus = "2xa100-40gb";
  config.workload = "paper:5x,hours=9-12";
  config.initial = "1,2";
  config.hidden = {8};
  config.num_envs = 10;  // two groups
  config.num_steps = 12;
  config.minibatch = 60;
  config.update_epochs = 2;
  config.total_jobs = 10 * 12 * 4;  // two events a call: four updates
  config.foresight = true;
  config.eval_days = 2;
  config.baseline = "none+cedf";
  return config;
}

std::string run(const TrainConfig& config, int threads, int resume_after = -1) {
  auto trainer = std::move(Trainer::make(config, threads).value());
  EXPECT_TRUE(trainer->start());
  for (int i = 0; !trainer->finished(); ++i) {
    if (i == resume_after) {
      auto again = Trainer::resume("test", trainer->checkpoint(), threads);
      EXPECT_TRUE(again) << again.error().what;
      trainer = std::move(*again);
    }
    EXPECT_TRUE(trainer->update());
  }
  EXPECT_EQ(trainer->updates_done(), 4u);
  return trainer->checkpoint();
}

TEST(TrainerThreads, OneSeedGivesEqualBytesForOneAndTwoThreads) {
  const std::string one = run(tiny(), 1);
  EXPECT_EQ(one, run(tiny(), 2));
  TrainConfig other = tiny();
  other.seed = 2;
  EXPECT_NE(one, run(other, 1));
}

TEST(Trainer, AResumedRunEqualsAnUninterruptedOne) {
  const std::string whole = run(tiny(), 1);
  EXPECT_EQ(whole, run(tiny(), 1, 1));
  EXPECT_EQ(whole, run(tiny(), 1, 3));
}

TEST(Trainer, ImitationLowersTheCrossEntropyAndIsRepeatable) {
  TrainConfig config = tiny();
  config.teacher = "twice+cedf";
  config.imitate_days = 2;
  config.imitate_rounds = 2;
  config.imitate_epochs = 8;
  config.imitate_minibatch = 64;
  config.imitate_rate = 1e-2;
  std::vector<double> entropies;
  const auto trained = [&](int threads) {
    auto trainer = std::move(Trainer::make(config, threads).value());
    EXPECT_TRUE(trainer->start([&](const LessonReport& r) { entropies.push_back(r.cross_entropy); }));
    return trainer->checkpoint();
  };
  const std::string one = trained(1);
  ASSERT_EQ(entropies.size(), 16u);
  EXPECT_LT(entropies.back(), 0.5 * entropies.front());
  EXPECT_EQ(one, trained(2));
}

TEST(Trainer, EvaluatesBesideItsBaseline) {
  TrainConfig config = tiny();
  auto trainer = std::move(Trainer::make(config, 2).value());
  ASSERT_TRUE(trainer->start());
  const auto report = trainer->evaluate(Sampling::kSample);
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->days, 2u);
  EXPECT_GT(report->et, 0);
  EXPECT_GT(report->baseline_et, 0);
  EXPECT_NEAR(report->relative(), report->et / report->baseline_et - 1, 1e-12);
}

TEST(Trainer, RefusesDamagedAndForeignCheckpoints) {
  auto trainer = std::move(Trainer::make(tiny(), 1).value());
  ASSERT_TRUE(trainer->start());
  const std::string good = trainer->checkpoint();
  for (std::size_t cut : {std::size_t(0), std::size_t(7), std::size_t(100), good.size() / 2, good.size() - 1})
    EXPECT_FALSE(Trainer::resume("cut.ckpt", std::string_view(good).substr(0, cut), 1));
  const auto policy = Trainer::resume("best.policy", to_bytes(trainer->policy()), 1);
  ASSERT_FALSE(policy);
  EXPECT_NE(policy.error().what.find("best.policy is a policy, not a checkpoint"), std::string::npos);
  // A container that is whole, with a section that is not.
  auto sections = parse_container("x", good).value();
  for (Section& section : sections) {
    if (section.tag == "head" || section.tag == "conf") continue;
    auto bad = sections;
    for (Section& other : bad)
      if (other.tag == section.tag) other.bytes.resize(other.bytes.size() / 2);
    EXPECT_FALSE(Trainer::resume("half.ckpt", to_container(bad), 1)) << section.tag;
  }
  EXPECT_TRUE(Trainer::resume("good.ckpt", good, 1));
}

TEST(Trainer, RefusesConfigsThatCannotWork) {
  TrainConfig config = tiny();
  config.top_k = 20;
  EXPECT_NE(Trainer::make(config, 1).error().what.find("12 layouts"), std::string::npos);
  config = tiny();
  config.baseline = "nothing+cedf";
  EXPECT_FALSE(Trainer::make(config, 1));
}

}  // namespace
}  // namespace smartmig
