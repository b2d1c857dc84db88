#include "sim/fixed_workload.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smartmig {
namespace {

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

}  // namespace
}  // namespace smartmig
