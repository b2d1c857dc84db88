#include "eval/run_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smartmig {
namespace {

SeenRun run_on(int slices, double seconds, double load = 0) {
  SeenRun run;
  run.place.log_share = std::log(slices / 7.0);
  run.place.load = load;
  run.log_s = std::log(seconds);
  return run;
}
TimeBelief on(const RunModel& model, int slices, double load = 0) {
  return model.at({std::log(slices / 7.0), load, {}});
}

TEST(RunModel, OneRunIsItsOwnPrediction) {
  const RunModel model({run_on(1, 33)}, CurveSet::builtin(), 0);
  EXPECT_NEAR(std::exp(on(model, 1).log_s), 33, 0.5);
  EXPECT_LT(on(model, 1).sd, on(model, 7).sd) << "other sizes are less known";
  EXPECT_LT(std::exp(on(model, 7).log_s), 33) << "more is faster";
  EXPECT_GT(on(model, 7).sd, 0.2);
}

TEST(RunModel, ASecondSizeNearlySettlesIt) {
  // Twice as much, twice as fast: it scales, so seven times as much is some five to seven times as fast.
  const RunModel scales({run_on(1, 70), run_on(3, 24)}, CurveSet::builtin(), 0);
  const RunModel flat({run_on(1, 70), run_on(3, 68)}, CurveSet::builtin(), 0);
  EXPECT_LT(std::exp(on(scales, 7).log_s), 18);
  EXPECT_GT(std::exp(on(flat, 7).log_s), 55);
  const RunModel one({run_on(1, 70)}, CurveSet::builtin(), 0);
  EXPECT_LT(on(scales, 7).sd, 0.6 * on(one, 7).sd);
  EXPECT_GT(flat.launch_share(), scales.launch_share());
}

TEST(RunModel, NeighboursAreCountedOut) {
  const RunModel model({run_on(1, 40, 0.9), run_on(1, 30, 0)}, CurveSet::builtin(), 0);
  EXPECT_NEAR(std::exp(on(model, 1, 0).log_s), 30, 2.5);
  EXPECT_NEAR(std::exp(on(model, 1, 0.9).log_s), 40, 3.5);
}

TEST(RunModel, NumbersOfTheCommandLine) {
  std::vector<SeenRun> runs;
  for (const double steps : {100.0, 200.0, 400.0, 800.0}) {
    SeenRun run = run_on(7, steps / 10);
    run.place.numbers[0] = std::log(steps);
    runs.push_back(run);
  }
  const RunModel model(runs, CurveSet::builtin(), 0);
  RunPlace asked;
  asked.numbers[0] = std::log(1600.0);
  EXPECT_NEAR(std::exp(model.at(asked).log_s), 160, 25);
  // Seeds do not matter, and four of them show it.
  for (SeenRun& run : runs) run.log_s = std::log(50.0);
  const RunModel seeds(runs, CurveSet::builtin(), 0);
  EXPECT_NEAR(std::exp(seeds.at(asked).log_s), 50, 3);
  EXPECT_LT(seeds.at(asked).sd, 0.25);
}

TEST(RunModel, AChangedProgramKeepsItsCurve) {
  std::vector<SeenRun> runs;
  for (int i = 0; i < 4; ++i) runs.push_back(run_on(1, 70)), runs.push_back(run_on(7, 10));
  SeenRun after = run_on(1, 140);
  after.epoch = 1;
  runs.push_back(after);
  const RunModel model(runs, CurveSet::builtin(), 1);
  EXPECT_NEAR(std::exp(on(model, 1).log_s), 140, 15);
  EXPECT_NEAR(std::exp(on(model, 7).log_s), 20, 4);
}

TEST(RunModel, OneOddRunMovesLittle) {
  std::vector<SeenRun> runs;
  for (int i = 0; i < 9; ++i) runs.push_back(run_on(2, 50 + i % 3));
  runs.push_back(run_on(2, 5000));
  const RunModel model(runs, CurveSet::builtin(), 0);
  EXPECT_NEAR(std::exp(on(model, 2).log_s), 51, 4);
  EXPECT_LT(on(model, 2).noise, 0.2);
}

TEST(RunModel, MoreIsTakenToBeLongerUntilRunsSayOtherwise) {
  const auto with = [](double number, double seconds) {
    SeenRun run = run_on(1, seconds);
    run.place.numbers[0] = std::log(number);
    return run;
  };
  const auto at = [](const RunModel& model, double number) {
    return std::exp(model.at({std::log(1 / 7.0), 0, {std::log(number)}}).log_s);
  };
  const RunModel one({with(800, 10)}, CurveSet::builtin(), 0);
  EXPECT_GT(at(one, 4500), 12);
  EXPECT_LT(at(one, 100), 9);
  const RunModel rate({with(0.1, 10)}, CurveSet::builtin(), 0);
  EXPECT_NEAR(at(rate, 0.001), 10, 0.5) << "no count";
  std::vector<SeenRun> seeds;
  for (const double seed : {1, 7, 42, 1000}) seeds.push_back(with(seed, 10));
  EXPECT_NEAR(at(RunModel(seeds, CurveSet::builtin(), 0), 300), 10, 0.7);
}

TEST(RunModel, KnowsLaunchFromItsFirstCudaCall) {
  SeenRun run = run_on(1, 30);
  const RunModel before({run}, CurveSet::builtin(), 0);
  run.launch_share = 0.6;
  const RunModel after({run}, CurveSet::builtin(), 0);
  EXPECT_GT(after.launch_share(), before.launch_share() + 0.1);
  EXPECT_GT(on(after, 7).log_s, on(before, 7).log_s) << "launch is not made shorter by a larger slice";
}

}  // namespace
}  // namespace smartmig
