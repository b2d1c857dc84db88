#include "sim/drawn_workloads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <set>

#include "sim/arrivals.h"
#include "sim/kind_curve.h"

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

TEST(FixedWorkload, CurvesOfFig3) {
  const int sizes[] = {1, 2, 3, 4, 7};
  const std::pair<const char*, std::array<double, 5>> curves[] = {{"linear", {200, 400, 600, 800, 1400}},
                                                                  {"sublinear", {150, 295, 430, 550, 770}},
                                                                  {"capped", {100, 200, 300, 300, 300}}};
  for (const auto& [mix, throughput] : curves) {
    const auto workload = load_workload(std::string("fixed:rate=8,jobs=200,mix=") + mix);
    ASSERT_TRUE(workload) << workload.error().what;
    EXPECT_EQ(workload->jobs.size(), 200u);
    EXPECT_EQ(workload->kinds, std::vector<std::string>{mix});
    for (const Job& job : workload->jobs)
      for (std::size_t i = 0; i < 5; ++i)
        ASSERT_NEAR(double(job.work_on(sizes[i]).count()),
                    double(job.work_on(1).count()) * throughput[0] / throughput[i], 1.01);
  }
}

TEST(FixedWorkload, MixIsEvenAndClassesAreThePapers) {
  const auto workload = load_workload("fixed:rate=8,jobs=30000,mix=mixed,seed=5");
  ASSERT_TRUE(workload) << workload.error().what;
  std::map<std::string, double> count;
  double long_jobs = 0;
  for (const Job& job : workload->jobs) {
    count[workload->kind_of(job)] += 1;
    long_jobs += minutes(job.work_on(1)) > 25;
    ASSERT_LT(job.restart, Time{0});
  }
  for (const char* kind : {"linear", "sublinear", "capped"})
    EXPECT_NEAR(count[kind], 10000, 4 * std::sqrt(30000 * 2 / 9.0)) << kind;
  EXPECT_NEAR(long_jobs / 30000, 0.2 + 0.8 * std::exp(-25 / 3.0), 4 * std::sqrt(0.16 / 30000));
  EXPECT_EQ(workload->seed, 5u);
  EXPECT_TRUE(workload->generated);
}

TEST(CurveWorkload, MisoUsesEveryMeasuredKind) {
  const auto workload = load_workload("miso:rate=2,jobs=9000,seed=1");
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_EQ(workload->reference_gpu, "a100-40gb");
  std::vector<double> count(workload->kinds.size());
  double whole = 0;
  for (const Job& job : workload->jobs) {
    count[std::size_t(job.kind)] += 1;
    whole += minutes(whole_gpu_work(job));
    ASSERT_GE(job.restart, std::chrono::seconds(25));
    ASSERT_GT(job.mem_mib, 0);
  }
  ASSERT_EQ(count.size(), 30u);
  for (const double n : count) EXPECT_NEAR(n, 300, 4 * std::sqrt(300.0));
  const double mu = (std::log(40) + std::log(60)) / 2, sigma = (std::log(60) - std::log(40)) / (2 * 1.645);
  EXPECT_NEAR(whole / 9000, std::exp(mu + sigma * sigma / 2) / 7, 0.05);
}

TEST(CurveWorkload, SizesWithoutAMeasurementAreClosed) {
  const auto workload = load_workload("miso:20x,seed=2");
  ASSERT_TRUE(workload) << workload.error().what;
  std::set<std::string> seen;
  for (const Job& job : workload->jobs) {
    const std::string kind = workload->kind_of(job);
    seen.insert(kind);
    if (kind == "bert-train-8") {
      ASSERT_EQ(job.work_on(1), kCannotRun);
      ASSERT_EQ(job.work_on(2), kCannotRun);
      ASSERT_NEAR(seconds(job.work_on(3)), seconds(job.work_on(7)) * 66.28 / 34.2906, 1e-5);
      ASSERT_EQ(job.mem_mib, 18635);
      ASSERT_EQ(job.restart, std::chrono::seconds(120));
    } else if (kind == "resnet-train-512") {
      ASSERT_NEAR(seconds(job.work_on(1)), seconds(job.work_on(7)) * 13989.1 / 3127.67, 1e-4);
      ASSERT_EQ(job.mem_mib, 4864) << "it ran on 1g.5gb";
      ASSERT_EQ(job.restart, std::chrono::seconds(30));
    }
  }
  EXPECT_TRUE(seen.count("bert-train-8") && seen.count("resnet-train-512"));
}

TEST(CurveWorkload, ParvaIsInferenceOnThe80GigabyteBoard) {
  const auto workload = load_workload("parva:20x,seed=2");
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_EQ(workload->reference_gpu, "a100-80gb");
  EXPECT_EQ(workload->kinds.size(), 88u);
  double whole = 0;
  for (const Job& job : workload->jobs) {
    whole += minutes(whole_gpu_work(job));
    ASSERT_LT(job.restart, Time{0});
    ASSERT_TRUE(workload->kind_of(job) != "resnet50-infer-256" || job.work_on(4) == kCannotRun);
  }
  const double n = double(workload->jobs.size());
  EXPECT_NEAR(whole / n, 3.0 / 7, 4 * 3.0 / 7 / std::sqrt(n));
}

}  // namespace
}  // namespace smartmig
