#include "policy/planner/tightest_memory.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace smartmig
