#include "policy/tightest_memory.h"

#include <gtest/gtest.h>

#include "policy/registry.h"
#include "sim/simulate.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

std::vector<std::string> offered(const char* gpus, int mem_mib) {
  const auto platform = fixture::platform(gpus);
  Job job = fixture::job(0, -1, {10, 10, 10, 10, 10});
  job.mem_mib = mem_mib;
  const auto table = fixture::bind({job}, *platform);
  const Cluster cluster(platform, table, {CostModel::kHardware, {}}, {Layout{}}, Time{0});
  std::vector<std::string> names;
  for (std::size_t t = 0; t < platform->types().size(); ++t)
    if (tightest_memory(cluster, JobId(0), TypeId(t))) names.push_back(platform->profile(TypeId(t)).name);
  return names;
}

TEST(TightestMemory, OfOneSizeTheLeastMemoryThatHoldsTheJob) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(offered("1xh200-141gb", -1), (Names{"1g.18gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"}));
  EXPECT_EQ(offered("1xh200-141gb", 20000), (Names{"1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"}));
  EXPECT_EQ(offered("1xh200-141gb-soft", -1), (Names{"1g.18gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"}));
  EXPECT_EQ(offered("1xh200-141gb-soft", 6000), (Names{"2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb", "1g.8gb"}));
  EXPECT_EQ(offered("1xh200-141gb-soft", 9000), (Names{"1g.18gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"}));
}

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

TEST(TightestMemory, FourteenSmallJobsRunAtOnceOnSoftSlices) {
  for (const char* policy : {"best", "batch", "planner"}) {
    SCOPED_TRACE(policy);
    const double at_once = 1.1 * makespan_min("1xh200-141gb", policy, 7, 6000);
    EXPECT_LT(makespan_min("1xh200-141gb-soft", policy, 14, 6000), at_once);
    EXPECT_GT(makespan_min("1xh200-141gb-soft", policy, 15, 6000), at_once);
    EXPECT_GT(makespan_min("1xh200-141gb-soft", policy, 14, -1), at_once) << "what they need is not known";
    EXPECT_GT(makespan_min("1xh200-141gb", policy, 14, 6000), at_once);
  }
}

}  // namespace
}  // namespace smartmig
