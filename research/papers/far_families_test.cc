#include "research/papers/far_families.h"

#include <gtest/gtest.h>

#include "research/papers/far_experiment.h"

namespace smartmig {
namespace {

TEST(FarFamilies, BatchesAreFunctionsOfTheirSeed) {
  for (const FarFamily& family : far_families())
    for (const int count : {1, 15, 30}) {
      const Workload once = far_batch(family, count, 7);
      EXPECT_EQ(once.jobs.size(), std::size_t(count)) << family.name;
      EXPECT_TRUE(validate(once));
      EXPECT_EQ(hash_of(once), hash_of(far_batch(family, count, 7)));
      EXPECT_NE(hash_of(once), hash_of(far_batch(family, count, 8)));
      for (const Job& job : once.jobs) {
        EXPECT_EQ(job.deadline, kNever);
        EXPECT_EQ(job.work_on(5), kCannotRun);
        EXPECT_GE(job.work_on(1), from_seconds(family.least_s));
        EXPECT_LE(job.work_on(1), from_seconds(family.most_s));
        for (const auto& [small, large] : {std::pair(1, 2), std::pair(2, 3), std::pair(3, 4), std::pair(4, 7)})
          EXPECT_GE(job.work_on(small), job.work_on(large)) << "a larger slice is never slower";
      }
    }
}

TEST(FarFamilies, BadJobsAreThriftiestOnOneOrTwoSlicesGoodOnesOnMore) {
  const auto thriftiest = [](const Job& job) {
    int best = 1;
    for (const int s : {2, 3, 4, 7})
      if (job.work_on(s) * s < job.work_on(best) * best) best = s;
    return best;
  };
  for (const Job& job : far_batch(far_families()[1], 30, 7).jobs) EXPECT_LE(thriftiest(job), 2);
  double sum = 0;
  for (const Job& job : far_batch(far_families()[0], 30, 7).jobs) sum += thriftiest(job);
  EXPECT_GT(sum / 30, 2);
}

TEST(FarFamilies, TheAreaBoundIsTheLeastSliceSeconds) {
  Workload batch;
  Job job;
  job.work[0] = from_seconds(70);
  job.work[1] = from_seconds(21);
  batch.jobs = {job, job};
  EXPECT_DOUBLE_EQ(area_bound_s(batch), 12);
}

TEST(FarExperiment, BatchEndsSoonerThanFarAndTheBestStaticPartition) {
  FarOptions options;
  options.batches = 2;
  options.first_seed = 1000;
  options.family = "mix";
  const auto report = far_report(options, [](std::string_view, double) {});
  ASSERT_TRUE(report) << report.error().what;
  for (const auto& row : report->sections[0].json) {
    EXPECT_LT(row["batch"].get<double>(), row["far"].get<double>());
    EXPECT_LT(row["batch"].get<double>(), row["static_fifo"].get<double>());
    EXPECT_GE(row["batch"].get<double>(), 1);
  }
  options.family = "goood";
  EXPECT_FALSE(far_report(options, [](std::string_view, double) {}));
}

}  // namespace
}  // namespace smartmig
