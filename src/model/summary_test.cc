#include "model/summary.h"

#include <gtest/gtest.h>

#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::min;

// Jobs one after the other on a whole GPU, each started when the one before it ends.
Cluster one_by_one(std::vector<Job> jobs, std::size_t finish) {
  const auto platform = fixture::platform("1xa100-40gb");
  const auto table = fixture::bind(std::move(jobs), *platform);
  Cluster cluster(platform, table, {}, fixture::layouts(*platform, {"7g@0"}));
  Time clock{};
  for (std::size_t j = 0; j < table->size(); ++j) cluster.apply(Event::submitted(clock, JobId(j)));
  for (std::size_t j = 0; j < finish; ++j) {
    cluster.apply(Event::started(clock, JobId(j), GpuId(0), fixture::slice(*platform, 0, "7g@0")));
    clock = cluster.state(JobId(j)).finish;
    cluster.apply(Event::finished(clock, JobId(j)));
  }
  return cluster;
}

TEST(Summary, ByHand) {
  // Two jobs of 10 and 20 min; deadlines at 15 and 18: the second is 12 min late. The GPU draws 248.5 W for 30 min.
  const Cluster cluster =
      one_by_one({fixture::job(0, 15, fixture::linear(10)), fixture::job(0, 18, fixture::linear(20))}, 2);
  const Summary s = summarize(cluster, 1e-3, 2);
  EXPECT_EQ(s.gpus, 1u);
  EXPECT_EQ(s.jobs, 2u);
  EXPECT_EQ(s.unfinished_jobs, 0u);
  EXPECT_EQ(s.late_jobs, 1u);
  EXPECT_DOUBLE_EQ(s.energy_wmin, 30 * 248.5);
  EXPECT_DOUBLE_EQ(s.energy_joules, 1800 * 248.5);
  EXPECT_DOUBLE_EQ(s.energy_kwh, 0.5 * 248.5 / 1000);
  EXPECT_NEAR(s.idle_joules, 1800 * 40, 1e-6);
  EXPECT_DOUBLE_EQ(s.mean_tardiness_min, 6);
  EXPECT_DOUBLE_EQ(s.max_tardiness_min, 12);
  EXPECT_DOUBLE_EQ(s.et_sum, 1e-3 * 30 * 248.5 + 6);
  EXPECT_DOUBLE_EQ(s.et, s.et_sum / 1.001);
  EXPECT_EQ(s.a_eff, s.a);
  EXPECT_DOUBLE_EQ(s.makespan_min, 30);
  EXPECT_DOUBLE_EQ(s.mean_wait_min, 5);
  EXPECT_DOUBLE_EQ(s.mean_turnaround_min, 20);
  EXPECT_DOUBLE_EQ(s.utilisation, 1);
  EXPECT_EQ(s.events, 4u);
}

TEST(Summary, PercentilesAreNearestRank) {
  std::vector<Job> jobs;
  for (int i = 0; i < 100; ++i) jobs.push_back(fixture::job(0, 0, fixture::linear(1)));  // finish at 1 .. 100, all late
  Summary s = summarize(one_by_one(jobs, 100), 0, 1);
  EXPECT_DOUBLE_EQ(s.p99_tardiness_min, 99);
  EXPECT_DOUBLE_EQ(s.p99_turnaround_min, 99);
  EXPECT_DOUBLE_EQ(s.max_tardiness_min, 100);
  jobs.push_back(jobs[0]);
  EXPECT_DOUBLE_EQ(summarize(one_by_one(jobs, 101), 0, 1).p99_tardiness_min, 100);  // rank 99.99 rounds up
  jobs.resize(1);
  EXPECT_DOUBLE_EQ(summarize(one_by_one(jobs, 1), 0, 1).p99_tardiness_min, 1);
}

TEST(Summary, JobsWithoutDeadlineAreNeverLateAndUnfinishedOnesDoNotCount) {
  const Cluster cluster =
      one_by_one({fixture::job(0, -1, fixture::linear(10)), fixture::job(0, 1, fixture::linear(10))}, 1);
  const Summary s = summarize(cluster, 2e-7, 1);
  EXPECT_EQ(s.late_jobs, 0u);
  EXPECT_EQ(s.unfinished_jobs, 1u);
  EXPECT_DOUBLE_EQ(s.mean_tardiness_min, 0);
  EXPECT_DOUBLE_EQ(s.mean_turnaround_min, 10);
  EXPECT_EQ(tardiness_of(fixture::job(0, -1, fixture::linear(1)), min(1e6)), Time{0});
  EXPECT_EQ(tardiness_of(fixture::job(0, 3, fixture::linear(1)), min(5)), min(2));
}

TEST(Summary, NothingHappenedYet) {
  const Summary s = summarize(one_by_one({fixture::job(0, 1, fixture::linear(10))}, 0), 2e-7, 1);
  EXPECT_EQ(s.unfinished_jobs, 1u);
  EXPECT_EQ(s.utilisation, 0);
  EXPECT_EQ(s.energy_joules, 0);
}

TEST(Summary, SumsOfFarDeadlinesDoNotOverflow) {
  std::vector<Job> jobs(2000, fixture::job(0, 0, fixture::linear(1)));
  for (Job& job : jobs) job.deadline = -from_seconds(kMaxSeconds);
  const Summary s = summarize(one_by_one(std::move(jobs), 2000), 0, 1);
  EXPECT_NEAR(s.mean_tardiness_min, kMaxSeconds / 60, kMaxSeconds / 60 * 1e-5);
}

TEST(Summary, EffectiveA) {
  EXPECT_DOUBLE_EQ(effective_a(2e-7, 8, 1), 2e-7);
  EXPECT_DOUBLE_EQ(effective_a(2e-7, 16, 0.5), 2e-7);
  EXPECT_DOUBLE_EQ(effective_a(2e-7, 4, 2), 2e-7);
  EXPECT_DOUBLE_EQ(effective_a(2e-7, 1, 1), 1.6e-6);
}

}  // namespace
}  // namespace smartmig
