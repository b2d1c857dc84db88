#include "research/learn/env.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "model/summary.h"
#include "sim/simulate.h"

namespace smartmig {
namespace {

TrainConfig small_env(const char* gpus = "8xa100-40gb", const char* cost = "paper") {
  TrainConfig config;
  config.gpus = gpus;
  config.cost = cost;
  config.workload = "paper:20x,hours=9-11";
  config.initial = "2";
  return config;
}

// Random actions, keyed by call and GPU.
class RandomLayouts : public Repartitioner {
 public:
  RandomLayouts(std::vector<Shape> initial, std::vector<Shape> shapes)
      : initial_(std::move(initial)), shapes_(std::move(shapes)) {}
  static std::uint8_t pick(std::uint64_t decision, std::uint64_t gpu, std::size_t layouts) {
    return std::uint8_t(mix64(decision, gpu) % layouts);
  }
  std::vector<Shape> initial() const override { return initial_; }
  void retarget(const Cluster& cluster, std::vector<std::pair<GpuId, Shape>>& wanted) override {
    if (!controller_due(cluster)) return;
    for (std::size_t g = 0; g < cluster.gpus().size(); ++g) {
      const Shape shape = shapes_[pick(cluster.decision(), g, shapes_.size())];
      if (takes_at_once(cluster, GpuId(g), shape)) wanted.emplace_back(GpuId(g), shape);
    }
  }

 private:
  std::vector<Shape> initial_, shapes_;
};

void expect_return_is_minus_et(const TrainConfig& config) {
  auto made = EnvSetup::make(config);
  ASSERT_TRUE(made) << made.error().what;
  EnvSetup setup = **made;
  setup.actual_n = true;
  Env env(std::make_shared<const EnvSetup>(setup));
  ASSERT_TRUE(env.begin(3));
  std::vector<std::uint8_t> next(setup.platform->gpus());
  double sum = 0;
  bool truncated = false;
  while (!env.over()) {
    for (std::size_t g = 0; g < next.size(); ++g) next[g] = RandomLayouts::pick(env.decision(), g, setup.shapes.size());
    const EnvStep step = env.act(next);
    sum += step.reward;
    truncated |= step.truncated;
  }
  EXPECT_FALSE(truncated);
  EXPECT_NEAR(env.day_return(), sum, 1e-12);

  // The same day in the simulator.
  const auto day = make_training_day(setup, 3, env.seed()).value();
  auto placer = std::move(make_placer(setup.placer, {}, setup.cost).value());
  auto layouts = std::make_unique<RandomLayouts>(setup.initial, setup.shapes);
  PairPolicy policy(std::move(layouts), std::move(placer));
  const auto run = simulate(
      {setup.platform, day.jobs, setup.cost, initial_layouts(*setup.platform, setup.initial).value(), day.a_eff},
      policy);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_NEAR(-sum, run->summary.et, 1e-9 * run->summary.et);
}

TEST(Env, TheSumOfRewardsIsMinusEt) { expect_return_is_minus_et(small_env()); }
TEST(Env, TheSumOfRewardsIsMinusEtUnderHardwareCosts) {
  expect_return_is_minus_et(small_env("8xa100-40gb", "hardware"));
}
TEST(Env, TheSumOfRewardsIsMinusEtForOtherFleets) {
  TrainConfig config = small_env("3xa30-24gb");
  config.initial = "4g.24gb";
  config.workload = "paper:2x,hours=9-12";
  config.power = "linear:30:20:165";
  expect_return_is_minus_et(config);
}

TEST(Env, WorkloadsHaveWeightsAndJobsNoRestart) {
  TrainConfig config = small_env("8xa100-40gb", "hardware");
  config.workload = "paper:4x,hours=9-11;paper:20x,hours=9-11";
  config.restart = "none";
  const auto day_return = [](const TrainConfig& c, std::uint64_t day) {
    Env env(EnvSetup::make(c).value());
    EXPECT_TRUE(env.begin(day));
    for (const Job& job : env.cluster().jobs().workload().jobs) EXPECT_LT(job.restart, Time{0});
    while (!env.over()) env.act(env.observer().layout_of());
    return env.day_return();
  };
  const double light = day_return(config, 0), heavy = day_return(config, 1);
  config.weights = "3; 0.5";
  EXPECT_NEAR(day_return(config, 0), 3 * light, 1e-9);
  EXPECT_NEAR(day_return(config, 1), 0.5 * heavy, 1e-9);
  config.weights = "3";
  EXPECT_NE(EnvSetup::make(config).error().what.find("1 numbers for 2 workloads"), std::string::npos);
  config.weights = "3;-1";
  EXPECT_FALSE(EnvSetup::make(config));
  config.weights = "";
  config.restart = "soon";
  EXPECT_FALSE(EnvSetup::make(config));
}

TEST(Env, AnEpisodeThatIsCutSaysSo) {
  TrainConfig config = small_env();
  config.max_hours = 10;
  Env env(EnvSetup::make(config).value());
  ASSERT_TRUE(env.begin(0));
  EnvStep step;
  while (!env.over()) step = env.act(env.observer().layout_of());
  EXPECT_TRUE(step.truncated);
  EXPECT_FALSE(step.done);
  EXPECT_GE(env.cluster().now(), std::chrono::hours(10));
}

TEST(Env, SkippingBeginsLaterInTheDay) {
  Env env(EnvSetup::make(small_env()).value());
  ASSERT_TRUE(env.begin(0, std::chrono::hours(10)));
  EXPECT_GE(env.cluster().now(), std::chrono::hours(10));
  EXPECT_GT(env.act(env.observer().layout_of()).reward, -0.1);  // what came before is not charged
}

TEST(Env, RefusesWhatCannotBeTrained) {
  TrainConfig config = small_env("2xa100-40gb,2xh200-141gb");
  EXPECT_NE(EnvSetup::make(config).error().what.find("one model"), std::string::npos);
  config = small_env();
  config.workload = "paper:20";
  EXPECT_FALSE(EnvSetup::make(config));
  config = small_env();
  config.initial = "4g+2g";
  EXPECT_FALSE(EnvSetup::make(config));
}

}  // namespace
}  // namespace smartmig
