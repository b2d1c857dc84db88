#include "policy/planner/batch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/registry.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

constexpr CostModel kHardware{CostModel::kHardware, {}};

// The first decision about jobs that all came at once. `minutes`: of each job on 1, 2, 3, 4 and 7 slices.
struct First {
  Plan plan;
  std::string target;
};
First decide(double weight, const std::vector<fixture::Work>& minutes, const std::string& layout,
             const std::string& gpus = "1xa100-40gb", BatchOrder order = BatchOrder::kShortFirst) {
  const auto platform = fixture::platform(gpus);
  std::vector<Job> jobs;
  for (const fixture::Work& m : minutes) jobs.push_back(fixture::job(0, -1, m));
  Cluster cluster(platform, fixture::bind(jobs, *platform), kHardware,
                  fixture::layouts(*platform, std::vector<std::string>(platform->gpus(), layout)));
  for (std::size_t j = 0; j < jobs.size(); ++j) cluster.apply(Event::submitted(Time{0}, JobId(j)));
  First first;
  BatchPolicy(weight, 1, order).decide(cluster, first.plan);
  if (!first.plan.reshapes.empty())
    first.target =
        to_string(*platform->models()[0].gpu, shape_of(*platform->models()[0].gpu, first.plan.reshapes[0].to));
  return first;
}

const fixture::Work kFlat{10, 9.8, 9.6, 9.4, 9}, kSteep{70, 30, 18, 12, 5}, kLongSteep{140, 60, 36, 24, 10};

TEST(Batch, JobsThatGainNothingRunSideBySide) {
  EXPECT_EQ(decide(0, std::vector(14, kFlat), "7g@0").target, "1g.5gb*7");
}

TEST(Batch, JobsThatGainMoreThanTheirShareRunAlone) {
  const First first = decide(0, std::vector(6, kSteep), "7g@0");
  EXPECT_TRUE(first.plan.reshapes.empty());
  EXPECT_EQ(first.plan.starts.size(), 1u);
}

TEST(Batch, TheLastJobGetsTheWholeGpu) { EXPECT_EQ(decide(0, {kFlat}, "1g@0+1g@1+1g@2+1g@3+3g@4").target, "7g.40gb"); }

// The end is the same in any order: then the mean end decides.
TEST(Batch, OneAfterAnotherTheShortComeFirst) {
  const First first = decide(0, {kLongSteep, kSteep, kLongSteep}, "7g@0");
  ASSERT_EQ(first.plan.starts.size(), 1u);
  EXPECT_EQ(first.plan.starts[0].job, JobId(1));
}

// Three on three equal slices: the long one must not come last.
TEST(Batch, TheLongestDoesNotStartLast) {
  const fixture::Work small{10, 10, 10, 10, 10}, large{20, 20, 20, 20, 20};
  std::vector<fixture::Work> jobs(8, small);
  jobs.push_back(large);
  const First first = decide(0, jobs, "1g@0+1g@1+1g@2+1g@3+1g@4+1g@5+1g@6");
  bool started = false;
  for (const Start& start : first.plan.starts) started |= start.job == JobId(8);
  EXPECT_TRUE(started);
}

// On seven slices any order within a pair ends alike: but if one takes longer than planned, a short one can still go elsewhere.
TEST(Batch, SideBySideTheLongOfAClosedBatchComeFirst) {
  const std::string layout = "1g@0+1g@1+1g@2+1g@3+1g@4+1g@5+1g@6", one = "1xa100-40gb";
  const fixture::Work small{10, 10, 10, 10, 10}, large{20, 20, 20, 20, 20};
  std::vector<fixture::Work> jobs(7, small);
  jobs.insert(jobs.end(), 7, large);
  const First closed = decide(0, jobs, layout, one, BatchOrder::kLongFirst), open = decide(0, jobs, layout, one);
  ASSERT_EQ(closed.plan.starts.size(), 7u);
  for (const Start& start : closed.plan.starts) EXPECT_GE(index(start.job), 7u);
  ASSERT_EQ(open.plan.starts.size(), 7u);
  for (const Start& start : open.plan.starts) EXPECT_LT(index(start.job), 7u);
  // Short jobs do not wait for much longer ones, nor where the end is far.
  std::vector<fixture::Work> unlike = jobs;
  for (std::size_t j = 7; j < 9; ++j) unlike[j] = {200, 200, 200, 200, 200};
  for (const Start& start : decide(0, unlike, layout, one, BatchOrder::kLongFirst).plan.starts)
    EXPECT_TRUE(index(start.job) < 9) << index(start.job);
  jobs.insert(jobs.end(), 70, large);
  const First far = decide(0, jobs, layout, one, BatchOrder::kLongFirst);
  ASSERT_EQ(far.plan.starts.size(), 7u);
  for (const Start& start : far.plan.starts) EXPECT_LT(index(start.job), 7u);
}

// Of unknown jobs nothing says that another order is better than the one in which they came.
TEST(Batch, JobsThatAreAlikeStartInTheOrderOfTheirArrival) {
  const First first = decide(0, std::vector(23, kFlat), "1g@0+1g@1+1g@2+1g@3+1g@4+1g@5+1g@6");
  ASSERT_EQ(first.plan.starts.size(), 7u);
  std::vector<std::uint32_t> started;
  for (const Start& start : first.plan.starts) started.push_back(index(start.job));
  std::sort(started.begin(), started.end());
  EXPECT_EQ(started, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6}));
}

// A whole A100 draws more than the slices that a job needs: with joules alone in mind nothing is gained by width.
TEST(Batch, JoulesAloneChooseTheLeastWattSeconds) {
  const First time = decide(0, {kFlat}, "7g@0"), energy = decide(1, {kFlat}, "7g@0");
  EXPECT_TRUE(time.plan.reshapes.empty());
  EXPECT_FALSE(energy.plan.reshapes.empty()) << "one slice for 10 min costs less than seven for 9";
}

TEST(Batch, SeveralGpusShareTheWork) {
  const First first = decide(0, std::vector(28, kFlat), "7g@0", "4xa100-40gb");
  EXPECT_EQ(first.plan.reshapes.size(), 4u);
}

// It makes the end the same for all layouts; the mean end of what waits still tells them apart.
TEST(Batch, AJobThatRunsForAWeekDoesNotHideTheRest) {
  const auto platform = fixture::platform("2xa100-40gb");
  const GpuModel& gpu = *platform->models()[0].gpu;
  std::vector<Job> jobs(15, fixture::job(0, -1, kFlat));
  jobs[0] = fixture::job(0, -1, fixture::linear(10080));
  Cluster cluster(platform, fixture::bind(jobs, *platform), kHardware, fixture::layouts(*platform, {"7g@0", "7g@0"}));
  for (std::size_t j = 0; j < jobs.size(); ++j) cluster.apply(Event::submitted(Time{0}, JobId(j)));
  cluster.apply(Event::started(Time{0}, JobId(0), GpuId(0), gpu.find_placement(gpu.find_profile("7g"), 0)));
  Plan plan;
  BatchPolicy(0).decide(cluster, plan);
  ASSERT_EQ(plan.reshapes.size(), 1u);
  EXPECT_EQ(plan.reshapes[0].gpu, GpuId(1));
}

// Serving it costs as much on paper as leaving it for later, and a reshape more: it must not wait for ever.
TEST(Batch, AJobThatNoIdleSliceTakesGetsOne) {
  EXPECT_EQ(decide(0, {{-1, -1, -1, -1, 0.01}}, "1g@0+1g@1+1g@2+1g@3+3g@4").target, "7g.40gb");
}

TEST(Batch, NamedAndForHardwareCostsOnly) {
  const auto platform = fixture::platform("2xa100-40gb");
  for (const char* name : {"batch", "batch:0", "batch:0.5", "batch:1"}) {
    const auto made = make_policy(name, {}, kHardware, *platform);
    ASSERT_TRUE(made) << made.error().what;
    EXPECT_EQ(made->name, name);
    EXPECT_FALSE(make_policy(name, {}, {}, *platform));
  }
  for (const char* name : {"batch:", "batch:x", "batch:2", "batch:-1", "batch:nan"})
    EXPECT_FALSE(make_policy(name, {}, kHardware, *platform)) << name;
}

}  // namespace
}  // namespace smartmig
