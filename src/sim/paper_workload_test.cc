#include "sim/paper_workload.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "sim/arrivals.h"

namespace smartmig {
namespace {

Workload made(const std::string& spec) {
  auto workload = load_workload(spec);
  SMARTMIG_CHECK(bool(workload), "{}", workload.error().what);
  return std::move(*workload);
}

double mean_1g_minutes(const Workload& workload, const char* phase, std::size_t& count) {
  double total = 0;
  count = 0;
  for (const Job& job : workload.jobs)
    if (workload.kind_of(job).ends_with(phase)) {
      total += minutes(job.work_on(1));
      ++count;
    }
  return total / double(count);
}

TEST(PaperWorkload, SameSeedSameJobsForEver) {
  const Workload day = made("paper:20x,seed=7");
  EXPECT_EQ(hash_of(day), hash_of(made("paper:20x,seed=7,days=1,slack=1-1.5")));
  EXPECT_EQ(hash_of(day), 0x49c01caef4c8e63aull);
  EXPECT_NE(hash_of(day), hash_of(made("paper:20x,seed=8")));
  EXPECT_TRUE(day.generated);
  EXPECT_EQ(day.seed, 7u);
  EXPECT_EQ(day.days, 1);
  EXPECT_EQ(day.reference_gpu, "a100-40gb");
  EXPECT_FALSE(day.rules.empty());
}

TEST(PaperWorkload, ArrivalRateOfEveryHourIsRight) {
  // Expected jobs of each hour at multiplier 20: base * 20 * 60. Poisson: the standard deviation is the root of the
  // mean.
  const double base[24] = {.111, .083, .085, .100, .137, .169, .171, .169, .179, .191, .201, .188,
                           .170, .177, .168, .171, .163, .138, .120, .111, .129, .116, .106, .104};
  const int days = 40;
  std::vector<double> by_hour(24);
  double total = 0;
  for (int seed = 1; seed <= 4; ++seed)
    for (const Time t : arrivals(*parse_workload_spec("paper:20x,days=10,seed=" + std::to_string(seed)))) {
      by_hour[std::size_t(t / std::chrono::hours(1) % 24)] += 1;
      total += 1;
    }
  for (std::size_t hour = 0; hour < 24; ++hour) {
    const double expected = base[hour] * 20 * 60 * days;
    EXPECT_NEAR(by_hour[hour], expected, 4 * std::sqrt(expected)) << "hour " << hour;
  }
  EXPECT_NEAR(total / days, 4148.4, 4 * std::sqrt(4148.4 / days));
  EXPECT_NEAR(expected_jobs(*parse_workload_spec("paper:20x")), 4148.4, 1e-6);
}

TEST(PaperWorkload, SharesAndDurations) {
  const Workload workload = made("paper:20x,days=10,seed=3");
  const double n = double(workload.jobs.size());
  std::size_t training = 0, inference = 0, bert = 0;
  const double train_minutes = mean_1g_minutes(workload, "-train", training),
               infer_minutes = mean_1g_minutes(workload, "-infer", inference);
  for (const Job& job : workload.jobs) bert += workload.kind_of(job).starts_with("bert");
  EXPECT_NEAR(double(training) / n, 0.2, 4 * std::sqrt(0.2 * 0.8 / n));
  EXPECT_NEAR(double(bert) / n, 2.0 / 3, 4 * std::sqrt(2.0 / 9 / n));
  EXPECT_NEAR(infer_minutes, 3, 4 * 3 / std::sqrt(double(inference)));
  const double mu = (std::log(40) + std::log(60)) / 2, sigma = (std::log(60) - std::log(40)) / (2 * 1.645);
  const double mean = std::exp(mu + sigma * sigma / 2), deviation = mean * std::sqrt(std::exp(sigma * sigma) - 1);
  EXPECT_NEAR(train_minutes, mean, 4 * deviation / std::sqrt(double(training)));
}

TEST(PaperWorkload, CurvesDeadlinesAndRestartsAreExact) {
  const std::map<std::string, std::array<double, 5>> throughput = {{"bert-train", {2.2, 4.1, 5.8, 7.1, 10.5}},
                                                                   {"resnet50-train", {3.4, 6, 7.85, 8.4, 9.75}},
                                                                   {"bert-infer", {1, 2, 3, 4, 7}},
                                                                   {"resnet50-infer", {3.2, 6.4, 9.6, 12.5, 18.4}}};
  const Workload workload = made("paper:20x,seed=11,slack=1.5-3");
  const int sizes[] = {1, 2, 3, 4, 7};
  double slack_total = 0;
  for (const Job& job : workload.jobs) {
    const auto& curve = throughput.at(workload.kind_of(job));
    for (std::size_t i = 0; i < 5; ++i)
      ASSERT_NEAR(double(job.work_on(sizes[i]).count()), double(job.work_on(1).count()) * curve[0] / curve[i], 1.01);
    for (const int size : {5, 6, 8}) ASSERT_EQ(job.work_on(size), kCannotRun);
    const double slack = double((job.deadline - job.submit).count()) / double(job.work_on(7).count());
    if (job.work_on(7) > std::chrono::seconds(1)) {
      ASSERT_GE(slack, 1.5 - 1e-6);
      ASSERT_LE(slack, 3 + 1e-6);
    }
    slack_total += slack;
    const double restart = workload.kind_of(job) == "bert-train"       ? 120
                           : workload.kind_of(job) == "resnet50-train" ? 250
                                                                       : -1e-6;
    ASSERT_EQ(job.restart, from_seconds(restart));
    ASSERT_EQ(job.mem_mib, -1);
  }
  EXPECT_NEAR(slack_total / double(workload.jobs.size()), 2.25,
              4 * 1.5 / std::sqrt(12.0 * double(workload.jobs.size())));
}

TEST(PaperWorkload, TheIthJobKeepsItsPropertiesAtAnotherLoad) {
  const Workload low = made("paper:5x,seed=2"), high = made("paper:20x,seed=2"),
                 loose = made("paper:5x,seed=2,slack=2-4");
  for (std::size_t i = 0; i < low.jobs.size(); ++i) {
    ASSERT_EQ(low.jobs[i].work, high.jobs[i].work);
    ASSERT_EQ(low.kind_of(low.jobs[i]), high.kind_of(high.jobs[i]));
    ASSERT_EQ(low.jobs[i].submit, loose.jobs[i].submit);
    ASSERT_EQ(low.jobs[i].work, loose.jobs[i].work);
  }
}

TEST(PaperWorkload, PartOfADayKeepsItsArrivals) {
  const auto whole = arrivals(*parse_workload_spec("paper:20x,seed=4,days=2")),
             part = arrivals(*parse_workload_spec("paper:20x,seed=4,days=2,hours=8-12"));
  std::vector<Time> expected;
  for (const Time t : whole)
    if (const auto hour = t / std::chrono::hours(1) % 24; hour >= 8 && hour < 12) expected.push_back(t);
  EXPECT_EQ(part, expected);
  EXPECT_DOUBLE_EQ(made("paper:20x,seed=4,days=2,hours=8-12").days, 2 * 4 / 24.0);
}

TEST(PaperWorkload, ConstantRateGivesTheNumberAsked) {
  const Workload workload = made("paper:rate=8,jobs=1000,seed=1");
  ASSERT_EQ(workload.jobs.size(), 1000u);
  EXPECT_NEAR(minutes(workload.jobs.back().submit), 125, 4 * 125 / std::sqrt(1000.0));
}

TEST(PaperWorkload, HalfAMillionJobsAreQuick) {
  const auto start = std::chrono::steady_clock::now();
  const Workload workload = made("paper:2500x");
  EXPECT_NEAR(double(workload.jobs.size()), 518550, 4 * std::sqrt(518550.0));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << "about 0.2 s in a release build";
}

}  // namespace
}  // namespace smartmig
