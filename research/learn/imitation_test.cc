#include "research/learn/imitation.h"

#include <gtest/gtest.h>

#include <numeric>

namespace smartmig {
namespace {

TEST(Imitation, TransitionsMoveFewestGpus) {
  const std::vector<std::uint16_t> from = {5, 3, 0, 0}, to = {2, 3, 2, 1};
  std::vector<float> w(16);
  transition_weights(from, to, 0, w);
  const std::vector<float> want = {2 / 8.f, 0, 2 / 8.f, 1 / 8.f, 0, 3 / 8.f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < 16; ++i) EXPECT_FLOAT_EQ(w[i], want[i]) << i;
  transition_weights(from, to, 0.1, w);
  EXPECT_NEAR(std::accumulate(w.begin(), w.end(), 0.0), 1.1, 1e-6);
  EXPECT_FLOAT_EQ(w[8], 0.05f * 2 / 8);  // an unused row learns the distribution
}

TEST(Imitation, TheTeacherDrivesFirstAndIsAskedLater) {
  TrainConfig config;
  config.gpus = "2xa100-40gb";
  config.workload = "paper:5x,hours=9-12";
  config.initial = "1";
  const auto setup = EnvSetup::make(config).value();
  WorkerPool pool(1);
  const auto driven = record_lessons(setup, "static[1]+cedf", nullptr, 0, 2, 1, pool).value();
  EXPECT_EQ(driven.days, 2u);
  EXPECT_EQ(std::count(driven.ends.begin(), driven.ends.end(), 1), 2);
  // The day begins with the partition that static holds, so nothing moves.
  EXPECT_EQ(driven.from, driven.to);
  const auto twice = record_lessons(setup, "twice+cedf", nullptr, 0, 1, 1, pool).value();
  EXPECT_NE(twice.from, twice.to);
}

}  // namespace
}  // namespace smartmig
