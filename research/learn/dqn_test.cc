#include "research/learn/dqn.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smartmig {
namespace {

TrainConfig tiny_dqn() {
  TrainConfig config;
  config.algorithm = "dqn";
  config.gpus = "1xa100-40gb";
  config.workload = "paper:2x,hours=9-12";
  config.initial = "1";
  config.features = "rich";
  config.hidden = {16};
  config.num_envs = 4;
  config.num_steps = 32;
  config.minibatch = 64;
  config.update_epochs = 2;
  config.memory = 4 * 256;
  config.target_every = 5;
  config.total_jobs = 4 * 32 / 2 * 6;  // one event a call: six updates
  config.eval_days = 2;
  config.baseline = "none+cedf";
  return config;
}

std::string run_dqn(const TrainConfig& config, int threads) {
  auto trainer = std::move(Training::make(config, threads).value());
  EXPECT_TRUE(trainer->start());
  while (!trainer->finished()) {
    const auto report = trainer->update();
    EXPECT_TRUE(report) << report.error().what;
    EXPECT_TRUE(std::isfinite(report->loss.value) && std::isfinite(report->q_mean));
  }
  EXPECT_EQ(trainer->updates_done(), 6u);
  EXPECT_EQ(trainer->steps_done(), 6u * 4 * 32);
  return to_bytes(trainer->policy());
}

TEST(DqnThreads, OneSeedGivesEqualBytesForOneAndTwoThreads) {
  const std::string one = run_dqn(tiny_dqn(), 1);
  EXPECT_EQ(one, run_dqn(tiny_dqn(), 2));
  TrainConfig other = tiny_dqn();
  other.seed = 2;
  EXPECT_NE(one, run_dqn(other, 1));
}

TEST(Dqn, WritesAGreedyPolicyThatAnEvaluationTakes) {
  auto trainer = std::move(Training::make(tiny_dqn(), 1).value());
  ASSERT_TRUE(trainer->start());
  ASSERT_TRUE(trainer->update());
  const PolicyFile file = trainer->policy();
  ASSERT_EQ(file.controllers.size(), 1u);
  EXPECT_EQ(file.controllers[0].sampling, Sampling::kGreedy);
  EXPECT_EQ(file.controllers[0].top_k, 1);
  EXPECT_GE(file.last_seed, file.first_seed);
  // Whatever layout the GPU has, the same row of values speaks for it.
  const Network& network = file.controllers[0].network;
  Network::Scratch scratch;
  const std::size_t layouts = std::size_t(network.rows());
  std::vector<float> x(std::size_t(network.size().inputs), 0.5f), logits(layouts * layouts);
  network.logits(x, scratch, logits);
  EXPECT_NE(logits[0], logits[1]);
  for (std::size_t i = layouts; i < logits.size(); ++i) EXPECT_EQ(logits[i], logits[i % layouts]);
  const auto report = trainer->evaluate(Sampling::kSample);
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->days, 2u);
  EXPECT_GT(report->et, 0);
  EXPECT_GT(report->baseline_et, 0);
}

TEST(Dqn, LearnsToLeaveALayoutThatItStartsIn) {
  // At 2x the whole GPU is far from the best layout; a few thousand calls are enough to see that.
  TrainConfig config = tiny_dqn();
  config.workload = "paper:2.5x,hours=8-14";
  config.hidden = {32};
  config.num_envs = 8;
  config.num_steps = 64;
  config.memory = 8 * 2048;
  config.minibatch = 128;
  config.update_epochs = 4;
  config.learning_rate = 2e-3;
  config.gamma = 0.95;
  config.target_every = 50;
  config.total_jobs = 8 * 64 / 2 * 60;
  config.eval_days = 6;
  auto trainer = std::move(Training::make(config, 2).value());
  ASSERT_TRUE(trainer->start());
  while (!trainer->finished()) ASSERT_TRUE(trainer->update());
  const auto report = trainer->evaluate(Sampling::kGreedy);
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_LT(report->et, 0.9 * report->baseline_et) << "seed " << config.seed;
}

TEST(Dqn, RefusesWhatItCannotLearn) {
  TrainConfig fleet = tiny_dqn();
  fleet.gpus = "2xa100-40gb";
  const auto many = Training::make(fleet, 1);
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().what.find("one GPU"), std::string::npos) << many.error().what;
  TrainConfig taught = tiny_dqn();
  taught.teacher = "market+cedf";
  taught.imitate_days = 1;
  EXPECT_FALSE(Training::make(taught, 1));
  TrainConfig short_memory = tiny_dqn();
  short_memory.memory = 4 * 33;
  EXPECT_FALSE(Training::make(short_memory, 1));
  TrainConfig unknown = tiny_dqn();
  unknown.algorithm = "sarsa";
  EXPECT_FALSE(Training::make(unknown, 1));
  auto trainer = std::move(Training::make(tiny_dqn(), 1).value());
  const auto again = Training::resume("some.ckpt", trainer->checkpoint(), 1);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().what.find("start a new run"), std::string::npos) << again.error().what;
}

TEST(Dqn, DuellingValuesDifferAsAdvantagesDoAndAverageToTheValue) {
  const std::vector<float> advantages = {1, 4, -2, 5};
  std::vector<double> q(4);
  duelling_values(advantages, 10, q);
  EXPECT_DOUBLE_EQ(q[0] + q[1] + q[2] + q[3], 40);
  EXPECT_DOUBLE_EQ(q[3] - q[2], 7);
}

}  // namespace
}  // namespace smartmig
