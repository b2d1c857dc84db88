// Cases with solutions by hand, and inputs without a bound.
#include "bound/lagrangian.h"

#include <gtest/gtest.h>

#include "bound/certificate_make.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

using namespace fixture;

double proven(Objective objective, const Platform& platform, const JobTable& jobs, double a = 1e-4) {
  const auto certificate = make_certificate(platform, jobs, objective, a);
  EXPECT_TRUE(certificate) << certificate.error().what;
  return certificate ? certificate->bound : -1;
}
void expect_close(double value, double expected) { EXPECT_NEAR(value, expected, 1e-6 * expected); }

TEST(Lagrangian, OneJobOnTimeCostsItsCheapestRun) {
  const auto gpus = platform("1xa100-40gb", "paper");
  const auto jobs = bind({job(5, 100, linear(10))}, *gpus);
  const double energy = 40 * 5 + 248.5 * 10;  // idle until 5, then the whole GPU for 10 minutes
  expect_close(proven(Objective::kEnergy, *gpus, *jobs), energy);
  expect_close(proven(Objective::kEt, *gpus, *jobs), 1e-4 * energy);
  EXPECT_EQ(proven(Objective::kTardiness, *gpus, *jobs), 0);
}

TEST(Lagrangian, AJobAloneCannotShareItsGpu) {
  // Three slices at 205.3 W: dearer per slice than a full GPU, but there is nobody to fill it with.
  const auto gpus = platform("1xa100-40gb", "paper");
  expect_close(proven(Objective::kEnergy, *gpus, *bind({job(0, -1, {-1, -1, 6, -1, -1})}, *gpus)), 205.3 * 6);
}

TEST(Lagrangian, AFullGpuOfSmallJobs) {
  const auto gpus = platform("1xa100-40gb", "paper");
  const auto jobs = bind(std::vector<Job>(7, job(0, 100, {30, -1, -1, -1, -1})), *gpus);
  expect_close(proven(Objective::kEnergy, *gpus, *jobs), 248.5 * 30);
}

TEST(Lagrangian, ThreesLeaveASliceUnused) {
  // Two 3g fit on a GPU: 248.5 W for six busy slices, not seven.
  const auto gpus = platform("1xa100-40gb", "paper");
  const auto jobs = bind(std::vector<Job>(2, job(0, 100, {-1, -1, 30, -1, -1})), *gpus);
  EXPECT_GE(proven(Objective::kEnergy, *gpus, *jobs), (248.5 - 40) * 30 + 40 * 30 * 6 / 7.0 - 1e-3);
}

TEST(Lagrangian, ADeadlineInThePastIsPaidInFull) {
  const auto gpus = platform("2xa100-40gb", "paper");
  const auto jobs = bind({job(10, 4, linear(3))}, *gpus);
  expect_close(proven(Objective::kTardiness, *gpus, *jobs), 9);
}

TEST(Lagrangian, TwoJobsOneGpuOneWaits) {
  const auto gpus = platform("1xa100-40gb", "paper");
  const auto jobs = bind(std::vector<Job>(2, job(0, 0, {-1, -1, -1, -1, 10})), *gpus);
  const double value = proven(Objective::kTardiness, *gpus, *jobs);  // optimum: (10 + 20) / 2
  EXPECT_LE(value, 15);
  EXPECT_GE(value, 14.8);
}

TEST(Lagrangian, ZeroLengthJobsCostNothingButTheirLateness) {
  const auto gpus = platform("1xa100-40gb", "paper");
  const auto jobs = bind({job(3, 1, {0, 0, 0, 0, 0}), job(6, 8, {0, 0, 0, 0, 0})}, *gpus);
  expect_close(proven(Objective::kTardiness, *gpus, *jobs), 1);
  expect_close(proven(Objective::kEnergy, *gpus, *jobs), 40 * 6);
}

TEST(Lagrangian, NoJobsNoEnergy) {
  const auto gpus = platform("4xa100-40gb", "paper");
  for (const Objective objective : {Objective::kEt, Objective::kEnergy, Objective::kTardiness})
    EXPECT_EQ(proven(objective, *gpus, *bind({}, *gpus)), 0);
}

TEST(Lagrangian, JobDependentWattsAreExactBelowTheCap) {
  const auto gpus = platform("1xa100-40gb", "linear:50:20:1000");
  expect_close(proven(Objective::kEnergy, *gpus, *bind({job(0, -1, {-1, -1, -1, -1, 6})}, *gpus)), (50 + 140) * 6);
}

TEST(Lagrangian, WithoutAWeightOrWattsAboveIdleEnergyOfJobsIsNothing) {
  const std::vector<Job> two(2, job(0, 0, {-1, -1, -1, -1, 10}));
  const auto gpus = platform("1xa100-40gb", "paper");
  const double late = proven(Objective::kTardiness, *gpus, *bind(two, *gpus));
  expect_close(proven(Objective::kEt, *gpus, *bind(two, *gpus), 0), late);
  for (const char* power : {"linear:50:0:250", "linear:50:20:50"}) {  // nothing a slice; a cap at idle
    const auto flat = platform("1xa100-40gb", power);
    expect_close(proven(Objective::kEnergy, *flat, *bind(two, *flat)), 50 * 20);
    EXPECT_GE(proven(Objective::kEt, *flat, *bind(two, *flat)), (1e-4 * 50 * 20 + late) * (1 - 1e-6)) << power;
  }
}

TEST(Lagrangian, MixedFleetTakesTheCheaperModel) {
  const auto gpus = platform("1xa100-40gb,1xa30-24gb", "linear:50:20:1000");
  const auto jobs = bind({job(0, -1, linear(6))}, *gpus);
  const double value = proven(Objective::kEnergy, *gpus, *jobs);
  EXPECT_GT(value, 2 * 50 * 6 - 1e-6);  // both boards idle at least until the whole A100 would be done
  EXPECT_LE(value, (2 * 50 + 140) * 6 + 1e-6);
}

TEST(Lagrangian, FinerPricesAreNeverWorse) {
  const auto gpus = platform("1xa100-40gb", "paper");
  std::vector<Job> some;
  for (int i = 0; i < 12; ++i) some.push_back(job(i, i + 3, linear(2)));
  const auto jobs = bind(some, *gpus);
  auto problem = BoundProblem::make(*gpus, *jobs, Objective::kEt, 1e-4, 1);
  ASSERT_TRUE(problem);
  Prices flat;
  flat.values = problem->tail;
  SolveOptions little, much;
  little.effort = 0.1;
  const double floor = lagrangian_value(*problem, flat) / problem->weights.divide_by;
  const double coarse = solve_lagrangian(*problem, little).value, fine = solve_lagrangian(*problem, much).value;
  EXPECT_GT(coarse, floor);
  EXPECT_GT(fine, coarse * 0.999);
}

}  // namespace
}  // namespace smartmig
