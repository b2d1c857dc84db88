#include "policy/planner/migm.h"

#include <gtest/gtest.h>

#include "policy/registry.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

constexpr CostModel kMigmCost{CostModel::kHardware, {}};

// The first decision about jobs that all came at once, on one idle A100.
struct FirstPlan {
  Plan plan;
  std::string target;
};
FirstPlan first_decision(bool grouped, const std::vector<int>& mem_mib, const std::string& layout) {
  const auto platform = fixture::platform("1xa100-40gb");
  std::vector<Job> jobs;
  for (const int mib : mem_mib) {
    jobs.push_back(fixture::job(0, -1, {1, 1, 1, 1, 1}));
    jobs.back().mem_mib = mib;
  }
  Cluster cluster(platform, fixture::bind(jobs, *platform), kMigmCost, fixture::layouts(*platform, {layout}));
  for (std::size_t j = 0; j < jobs.size(); ++j) cluster.apply(Event::submitted(Time{0}, JobId(j)));
  FirstPlan first;
  Migm(grouped).decide(cluster, first.plan);
  if (!first.plan.reshapes.empty()) first.target = to_string(*platform->models()[0].gpu, first.plan.reshapes[0].to);
  return first;
}

TEST(Migm, AnIdleSliceOfTheSizeIsTakenAsItIs) {
  const FirstPlan first = first_decision(false, {15000}, "1g@0+1g@1+1g@2+1g@3+3g@4");
  ASSERT_EQ(first.plan.starts.size(), 1u);
  EXPECT_TRUE(first.plan.reshapes.empty());
}

TEST(Migm, IdleNeighboursAreFusedForTheNextJob) {
  const FirstPlan first = first_decision(false, {15000, 15000}, "1g@0+1g@1+1g@2+1g@3+3g@4");
  EXPECT_EQ(first.plan.starts.size(), 1u);
  EXPECT_EQ(first.target, "3g.20gb@0+3g.20gb@4");
}

TEST(Migm, AnIdleSliceIsSplitWhereMostStaysReachable) {
  EXPECT_EQ(first_decision(false, {4000}, "7g@0").target, "1g.5gb@6");
}

TEST(Migm, GroupsAskOnceForAllTheirJobs) {
  const FirstPlan first = first_decision(true, {4000, 30000, 4000, 4000}, "7g@0");
  ASSERT_EQ(first.plan.starts.size(), 1u);  // the second finds the whole GPU as it is
  EXPECT_EQ(first.plan.starts[0].job, JobId(1));
  EXPECT_TRUE(first.plan.reshapes.empty());
  EXPECT_EQ(first_decision(true, {4000, 4000, 4000}, "7g@0").plan.reshapes.size(), 1u);
}

TEST(Migm, NamedAndForHardwareCostsOnly) {
  const auto platform = fixture::platform("2xa100-40gb");
  for (const char* name : {"migm-a", "migm-b"}) {
    const auto made = make_policy(name, {}, kMigmCost, *platform);
    ASSERT_TRUE(made) << made.error().what;
    EXPECT_EQ(made->name, name);
    const auto paper = make_policy(name, {}, {}, *platform);
    ASSERT_FALSE(paper);
    EXPECT_NE(paper.error().what.find("--cost hardware"), std::string::npos);
    PolicyOptions options;
    options.layouts = "1";
    EXPECT_FALSE(make_policy(name, options, kMigmCost, *platform));
  }
}

}  // namespace
}  // namespace smartmig
