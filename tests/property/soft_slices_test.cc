// Soft slices of half the memory in the simulator, for each policy that chooses sizes.
#include <gtest/gtest.h>

#include "policy/registry.h"
#include "sim/simulate.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

double makespan_min(const char* gpus, const char* policy, int jobs, int mem_mib) {
  const auto platform = fixture::platform(gpus);
  std::vector<Job> all;
  for (int i = 0; i < jobs; ++i) {
    all.push_back(fixture::job(0, -1, {10, 10, 10, 10, 10}));
    all.back().mem_mib = mem_mib;
  }
  const CostModel cost{CostModel::kHardware, {}};
  auto named = make_policy(policy, {}, cost, *platform);
  EXPECT_TRUE(named) << named.error().what;
  const auto result = simulate({platform, fixture::bind(all, *platform), cost, {Layout{}}, 2e-7}, *named->policy);
  EXPECT_TRUE(result) << result.error().what;
  EXPECT_EQ(result->refused, 0u) << result->last_refusal;
  EXPECT_EQ(result->summary.unfinished_jobs, 0u);
  EXPECT_LE(result->summary.utilisation, 1.0);
  return result->summary.makespan_min;
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
  for (const char* policy : {"best", "planner", "planner+cedf", "planner+value"}) {
    SCOPED_TRACE(policy);
    auto named = make_policy(policy, {}, cost, *platform);
    ASSERT_TRUE(named) << named.error().what;
    const auto result = simulate({platform, jobs, cost, {Layout{}}, 2e-7}, *named->policy);
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(result->refused, 0u) << result->last_refusal;
    EXPECT_EQ(result->summary.unfinished_jobs, 0u);
  }
}

}  // namespace
}  // namespace smartmig
