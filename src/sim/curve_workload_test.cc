#include "sim/curve_workload.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sim/kind_curve.h"

namespace smartmig {
namespace {

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
