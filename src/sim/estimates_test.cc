#include "sim/estimates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/workload_spec.h"

namespace smartmig {
namespace {

Workload day() { return load_workload("paper:8x,seed=3", {}).value(); }

TEST(Estimates, AreReadAndWrittenBack) {
  for (const char* text : {"exact", "lognormal:0.69", "lognormal:1.1:0.5", "over:1.1", "kind", "flat", "none",
                           "lognormal:0.35,told", "flat,told"})
    EXPECT_EQ(to_string(parse_estimates(text).value()), text);
  EXPECT_TRUE(parse_estimates("exact")->exact());
  for (const char* text : {"", "often", "lognormal", "lognormal:x", "lognormal:9", "lognormal:0.5:0", "over:1:2",
                           "exact:1", "none,told", "lognormal:0.5:1:1"}) {
    const auto rule = parse_estimates(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_NE(rule.error().what.find("write exact, lognormal:S[:BIAS]"), std::string::npos);
  }
}

TEST(Estimates, ScatterAsTheRuleSaysAndAlwaysTheSame) {
  const Workload jobs = day();
  const auto factors = told_factors(parse_estimates("lognormal:0.69:2").value(), jobs);
  EXPECT_EQ(factors, told_factors(parse_estimates("lognormal:0.69:2").value(), jobs));
  double sum = 0, squares = 0;
  for (const double f : factors) sum += std::log(f), squares += std::log(f) * std::log(f);
  const double n = double(factors.size()), mean = sum / n;
  EXPECT_NEAR(mean, std::log(2.0), 0.06);
  EXPECT_NEAR(std::sqrt(squares / n - mean * mean), 0.69, 0.04);
  for (const double f : told_factors(parse_estimates("over:1.1").value(), jobs)) EXPECT_GE(f, 1);
}

TEST(Estimates, OneTimeForAllOrForEachKind) {
  const Workload jobs = day();
  const auto flat = told_factors(parse_estimates("flat").value(), jobs);
  const auto kind = told_factors(parse_estimates("kind").value(), jobs);
  std::vector<double> of_kind(jobs.kinds.size(), 0);
  for (std::size_t j = 0; j < jobs.jobs.size(); ++j) {
    const double truth = log_time(jobs.jobs[j]);
    EXPECT_NEAR(std::log(flat[j]) + truth, std::log(flat[0]) + log_time(jobs.jobs[0]), 1e-9);
    double& told = of_kind[std::size_t(jobs.jobs[j].kind)];
    if (told == 0) told = std::log(kind[j]) + truth;
    EXPECT_NEAR(std::log(kind[j]) + truth, told, 1e-9);
  }
}

}  // namespace
}  // namespace smartmig
