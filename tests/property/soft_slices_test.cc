// Soft slices of half the memory in the simulator, for each policy that chooses sizes.
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "policy/registry.h"
#include "sim/simulate.h"
#include "support/cases.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

// Each job in order of arrival to the first free slice.
struct FirstFree : Policy {
  void decide(const Cluster& cluster, Plan& plan) override {
    Layout free = cluster.gpus()[0].free();
    for (JobId job = cluster.first_unfinished(); job != kNoJob && !free.empty(); job = cluster.next_unfinished(job)) {
      if (cluster.state(job).phase != JobPhase::kQueued) continue;
      plan.starts.push_back({job, GpuId(0), *free.begin()});
      free = free.without(*free.begin());
    }
  }
};

// A run under that policy from an empty board, in which all jobs end and nothing illegal is asked for.
Summary finished_run(const char* policy, const std::shared_ptr<const Platform>& platform,
                     const std::shared_ptr<const JobTable>& jobs, const CostModel& cost) {
  auto named = make_policy(policy, {}, cost, *platform);
  EXPECT_TRUE(named) << named.error().what;
  const auto result = simulate({platform, jobs, cost, {Layout{}}, 2e-7}, *named->policy);
  EXPECT_TRUE(result) << result.error().what;
  EXPECT_EQ(result->refused, 0u) << result->last_refusal;
  EXPECT_EQ(result->summary.unfinished_jobs, 0u);
  EXPECT_LE(result->summary.utilisation, 1.0);
  return result->summary;
}

double makespan_min(const char* gpus, const char* policy, int jobs, int mem_mib) {
  const auto platform = fixture::platform(gpus);
  std::vector<Job> all;
  for (int i = 0; i < jobs; ++i) {
    all.push_back(fixture::job(0, -1, {10, 10, 10, 10, 10}));
    all.back().mem_mib = mem_mib;
  }
  const CostModel cost{CostModel::kHardware, {}};
  return finished_run(policy, platform, fixture::bind(all, *platform), cost).makespan_min;
}

TEST(SoftSlices, FourteenSmallJobsRunAtOnceOnSoftSlices) {
  for (const char* policy : {"best", "batch", "planner"}) {
    SCOPED_TRACE(policy);
    const double at_once = 1.1 * makespan_min("1xh200-141gb", policy, 7, 6000);
    EXPECT_LT(makespan_min("1xh200-141gb-soft", policy, 14, 6000), at_once);
    EXPECT_GT(makespan_min("1xh200-141gb-soft", policy, 15, 6000), at_once);
    EXPECT_GT(makespan_min("1xh200-141gb-soft", policy, 14, -1), at_once) << "what they need is not known";
    EXPECT_GT(makespan_min("1xh200-141gb", policy, 14, 6000), at_once);
  }
}

// More at a time than a GPU has compute slices, and each could give way to a late one.
TEST(SoftSlices, FourteenJobsThatCanBeStopped) {
  const auto platform = fixture::platform("1xh200-141gb-soft");
  const CostModel cost{CostModel::kHardware, {}};
  for (const bool crowded : {false, true}) {
    std::vector<Job> jobs;
    for (int i = 0; i < 40; ++i) {
      jobs.push_back(fixture::job(0.1 * i, 0.1 * i + (i < 16 ? 400 : 12), {10, 10, 10, 10, 10}));
      jobs.back().mem_mib = 6000;
      jobs.back().restart = from_seconds(5);
      if (crowded) jobs.back().crowding = {1, 6.0 / 7};
    }
    for (const char* policy : {"best", "planner", "batch"}) {
      SCOPED_TRACE(fmt::format("{}{}", policy, crowded ? ", crowded" : ""));
      finished_run(policy, platform, fixture::bind(jobs, *platform), cost);
    }
  }
}

// Where a job fits no plain slice of its size the planner looks at double memory, too, and halves are in the same table.
TEST(SoftSlices, PlannersUnderPaperCosts) {
  const auto platform = fixture::platform("1xa100-80gb-soft");
  const auto all = std::make_shared<Workload>();
  all->reference_gpu = "a100-80gb";
  for (int i = 0; i < 6; ++i) {
    all->jobs.push_back(fixture::job(i, 60, {10, -1, -1, -1, -1}));
    all->jobs.back().mem_mib = i % 2 == 0 ? 15'000 : 4'000;
  }
  auto bound = JobTable::bind(all, *platform);
  ASSERT_TRUE(bound) << bound.error().what;
  const auto jobs = std::make_shared<const JobTable>(std::move(*bound));
  const CostModel cost{CostModel::kPaper, {}};
  for (const char* policy : {"best", "market", "market+cedf", "market+value"}) {
    SCOPED_TRACE(policy);
    finished_run(policy, platform, jobs, cost);
  }
}

// Jobs of one board in order of arrival, so many at a time, beside each other: what each has left of its table shrinks at a
// rate by who runs, in small steps of plain arithmetic.
std::vector<double> ends_by_small_steps(const std::vector<Job>& jobs, std::size_t at_a_time) {
  std::vector<double> left, ends(jobs.size(), -1);
  for (const Job& job : jobs) left.push_back(minutes(job.work_on(1)));
  std::vector<std::size_t> running;
  std::size_t next = 0;
  for (double now = 0, step = 1e-4; next < jobs.size() || !running.empty(); now += step) {
    while (running.size() < at_a_time && next < jobs.size() && minutes(jobs[next].submit) <= now)
      running.push_back(next++);
    const double others = double(running.size()) - 1;
    for (const std::size_t j : running) {
      const Crowding& c = jobs[j].crowding;
      left[j] -= step / std::exp(c.log_slowdown * (others / 7 - c.beside));
      if (left[j] <= 0) ends[j] = now + step;
    }
    std::erase_if(running, [&](std::size_t j) { return left[j] <= 0; });
  }
  return ends;
}

TEST(SoftSlices, NeighboursSlowEachOtherAsBySmallSteps) {
  const auto platform = fixture::platform("1xh200-141gb-soft");
  const CostModel cost{CostModel::kHardware, Time{0}};
  for (std::uint64_t seed = 1; seed <= std::uint64_t(cases(6)); ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::vector<Job> jobs;
    double at = 0;
    for (int i = 0; i < 30; ++i) {
      const double work = rng.uniform(0.5, 10);
      jobs.push_back(fixture::job(at += rng.exponential(0.4), -1, {work, work, work, work, work}));
      jobs.back().mem_mib = 4000;
      if (rng.below(4) != 0) jobs.back().crowding = {rng.uniform(0, 1.5), rng.uniform(0, 1.5)};
    }
    const std::vector<Layout> fourteen{fixture::layout(
        *platform, 0,
        "1g.8gb@0+1g.8gb@1+1g.8gb@2+1g.8gb@3+1g.8gb@4+1g.8gb@5+1g.8gb@6+1g.8gb@7+1g.8gb@8+1g.8gb@9+1g.8gb@10+1g.8gb@11+"
        "1g.8gb@12+1g.8gb@13")};
    FirstFree policy;
    const auto workload = std::make_shared<Workload>();
    workload->reference_gpu = "h200-141gb";
    workload->jobs = jobs;
    auto bound = JobTable::bind(workload, *platform);
    ASSERT_TRUE(bound) << bound.error().what;
    const auto table = std::make_shared<const JobTable>(std::move(*bound));
    const auto result = simulate({platform, table, cost, fourteen, 2e-7}, policy);
    ASSERT_TRUE(result) << result.error().what;
    const std::vector<double> ends = ends_by_small_steps(jobs, 14);
    for (std::size_t j = 0; j < jobs.size(); ++j)
      EXPECT_NEAR(minutes(result->final.states()[j].finish), ends[j], 0.02) << "job " << j;
  }
}

}  // namespace
}  // namespace smartmig
