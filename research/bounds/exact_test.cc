#include "research/bounds/exact.h"

#include <gtest/gtest.h>

#include "research/bounds/configurations.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

using namespace fixture;

ExactOptimum optimum(const Platform& p, std::vector<Job> jobs, double energy, double tardiness, double slot = 1) {
  return exact_optimum(p, *bind(std::move(jobs), p), {energy, tardiness, slot, {60}}).value();
}
void expect_exactly(const ExactOptimum& e, double value) {
  EXPECT_NEAR(e.lower, value, 3e-6 * (1 + value));
  EXPECT_NEAR(e.upper, value, 3e-6 * (1 + value));
}

TEST(Configurations, OfOneAndTwoJobs) {
  const auto p = platform("1xa100-40gb");
  // Idle, and one job on 1, 2, 3, 4 or 7 slices; the double-memory 1g is no better than the plain one.
  EXPECT_EQ(configurations(*p, *bind({job(0, 9, linear(2))}, *p)).size(), 6u);
  // Sizes that gain nothing cost more watts: only the smallest is left.
  EXPECT_EQ(configurations(*p, *bind({job(0, 9, {5, 5, 5, 5, 5})}, *p)).size(), 2u);
  const auto pair = configurations(*p, *bind({job(0, 9, linear(2)), job(0, 9, linear(2))}, *p));
  int both = 0;
  for (const auto& c : pair) both += c.running == 3;
  // Sizes 1 to 4 each; 4+4 does not fit, and six slices (3+3, 4+2, 2+4) draw as much as seven.
  EXPECT_EQ(both, 4 * 4 - 1 - 3);
  EXPECT_EQ(pair[0].running, 0u);
  EXPECT_EQ(pair[0].watts, 40);
  EXPECT_TRUE(configurations(*p, *bind({job(0, 9, {0, 0, 0, 0, 0})}, *p)).size() == 1);
}

TEST(Exact, HandSolved) {
  const auto one = platform("1xa100-40gb"), two = platform("2xa100-40gb");
  expect_exactly(optimum(*one, {}, 1, 1), 0);
  expect_exactly(optimum(*one, {job(0, 1, linear(2))}, 0, 1), 1);
  expect_exactly(optimum(*one, {job(0, 1, linear(2))}, 1, 0), 2 * 248.5);
  expect_exactly(optimum(*two, {job(3, 4, linear(2))}, 1, 0), 2 * 248.5 + 3 * 80 + 2 * 40);
  expect_exactly(optimum(*one, {job(0, 2, linear(2)), job(0, 2, linear(2))}, 0, 1), 1);
  expect_exactly(optimum(*two, {job(0, 2, linear(2)), job(0, 2, linear(2))}, 0, 1), 0);
  // Nothing gained beyond three slices: side by side on 3g+3g, 248.5 W for 3 minutes instead of 205.3 for 6.
  const Work capped = {9, 4.5, 3, 3, 3};
  expect_exactly(optimum(*one, {job(0, 3, capped), job(0, 3, capped)}, 0, 1), 0);
  expect_exactly(optimum(*one, {job(0, 3, capped), job(0, 3, capped)}, 1, 0), 3 * 248.5);
  // A job without work is over when it comes, but the boards stay on until then.
  expect_exactly(optimum(*one, {job(2, 1, {0, 0, 0, 0, 0})}, 0, 1), 1);
  expect_exactly(optimum(*one, {job(2, 1, {0, 0, 0, 0, 0})}, 1, 0), 80);
}

TEST(Exact, EnclosesMoreTightlyInShorterSlots) {
  const auto p = platform("1xa100-40gb");
  const std::vector<Job> jobs = {job(0, 2, linear(2)), job(0.7, 2.1, {8, 5, 3.3, 3.3, 3.3})};
  double last = 1e300;
  for (const double slot : {2.0, 1.0, 0.25}) {
    const ExactOptimum e = optimum(*p, jobs, 0.01, 1, slot);
    EXPECT_LE(e.lower, e.upper);
    EXPECT_LT(e.upper - e.lower, last + 1e-6);
    last = e.upper - e.lower;
  }
  EXPECT_LT(last, 0.2);
}

TEST(Exact, Refusals) {
  const auto p = platform("1xa100-40gb");
  const auto refusal = [&](const Platform& q, std::vector<Job> jobs, const ExactOptions& options) {
    return exact_optimum(q, *bind(std::move(jobs), q), options).error().what;
  };
  EXPECT_NE(
      refusal(*p, std::vector<Job>(6, job(0, 1, linear(1))), {1, 1}).find("at most 5 jobs on 2 GPUs, not for 6 on 1"),
      std::string::npos);
  EXPECT_NE(refusal(*platform("3xa100-40gb"), {job(0, 1, linear(1))}, {1, 1}).find("not for 1 on 3"),
            std::string::npos);
  EXPECT_NE(refusal(*p, {job(0, 1, linear(1))}, {1, 1, 0}).find("slots longer than 0"), std::string::npos);
  EXPECT_NE(refusal(*p, {job(0, 1, linear(1))}, {1, 1, 1e-9}).find("too short"), std::string::npos);
  EXPECT_NE(refusal(*p, {job(0, 1, linear(9)), job(0, 1, linear(9))}, {1, 1, 1e-4}).find("too many"),
            std::string::npos);
  EXPECT_NE(refusal(*p, {job(0, 1, linear(1))}, {-1, 1}).find("weights of at least 0"), std::string::npos);
}

}  // namespace
}  // namespace smartmig
