#include "research/papers/migbench_trace.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smartmig {
namespace {

// Rows of outputs/full-control-plane-v3-trace.jsonl in MIGBench's repository: made by an older rule (56 jobs of 1g at
// the start, arrivals from the same random numbers, 15 s apart on average) with the same seed. They pin the random
// numbers.
TEST(MigbenchTrace, RandomNumbersAreThoseOfGo) {
  GoRandom random(20'260'914, 20'260'914 ^ 0x9e3779b97f4a7c15ULL);
  const double weights[] = {35, 25, 25, 5};
  std::vector<MigbenchJob> jobs;
  std::int64_t arrival = 0;
  for (int i = 0; i < 144; ++i) {
    if (i >= 56) arrival += std::int64_t(random.exponential() * 15'000);
    double x = random.uniform() * 90;
    std::size_t which = 0;
    while (which < 3 && (x -= weights[which]) > 0) ++which;
    if (i < 56) which = 0;
    const double ms = std::exp(std::log(600'000.0) + 0.8 * random.normal());
    jobs.push_back(
        {arrival, std::int64_t(ms) * migbench_profiles()[which].percent, migbench_profiles()[which].memory_mb});
  }
  const auto expect = [&](std::size_t number, std::int64_t at, std::int64_t work, int memory) {
    EXPECT_EQ(jobs[number - 1].arrival_ms, at) << number;
    EXPECT_EQ(jobs[number - 1].compute_core_ms, work) << number;
    EXPECT_EQ(jobs[number - 1].memory_mb, memory) << number;
  };
  expect(1, 0, 9588810, 10240);
  expect(31, 0, 92922690, 10240);
  expect(57, 24625, 114249534, 40960);
  expect(80, 352850, 199134800, 81920);
  expect(99, 649723, 34420218, 40960);
  expect(129, 1138203, 76479200, 81920);
  expect(144, 1473432, 45128580, 40960);
}

TEST(MigbenchTrace, OfferedLoadIsAsAskedFor) {
  const MigbenchSetting setting;
  const auto jobs = migbench_jobs(setting);
  ASSERT_EQ(jobs.size(), 500u);
  EXPECT_EQ(jobs[2].compute_core_ms, 19247928) << "profiles and durations do not depend on the arrivals";
  double occupied = 0;
  for (const MigbenchJob& job : jobs)
    for (const MigbenchProfile& profile : migbench_profiles())
      if (profile.memory_mb == job.memory_mb)
        occupied += double(profile.slices) * double(job.compute_core_ms) / profile.percent;
  EXPECT_NEAR(occupied / (double(jobs.back().arrival_ms) * 56), 1.4, 0.15) << "up to the luck of the arrivals";
  const auto workload = migbench_workload(setting);
  ASSERT_TRUE(workload) << workload.error().what;
  EXPECT_EQ(workload->jobs[0].work_on(4), kCannotRun);
}

}  // namespace
}  // namespace smartmig
