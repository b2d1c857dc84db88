// The batch policy in random worlds: every job ends, nothing illegal is asked for; and its search: each job once, where
// it can run, never worse by looking longer.
#include "policy/planner/batch.h"

#include <gtest/gtest.h>

#include <set>

#include "random_world.h"
#include "sim/simulate.h"

namespace smartmig {
namespace {

using namespace random_world;

TEST(BatchProperty, EveryJobEndsAndNothingIllegalIsAskedFor) {
  for (int seed = 1; seed <= cases(30); ++seed) {
    const World world = random_world::make(std::uint64_t(seed), seed % 4 == 3);
    SCOPED_TRACE(world.words());
    CostModel cost{CostModel::kHardware, {}};
    if (seed % 5 == 0) cost.reshape = from_seconds(30);
    BatchPolicy policy(seed % 3 == 0 ? 0.5 : 0);
    Checked checked(policy);
    const auto result = simulate({world.platform, world.jobs, cost, world.initial, 2e-7}, checked);
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(result->refused, 0u) << result->last_refusal;
    EXPECT_EQ(result->summary.unfinished_jobs, 0u);
  }
}

TEST(BatchProperty, ASearchPlansEachJobOnceAndOnlyGetsBetter) {
  for (int seed = 1; seed <= cases(30); ++seed) {
    const World world = random_world::make(std::uint64_t(seed), seed % 4 == 3);
    SCOPED_TRACE(world.words());
    Cluster cluster(world.platform, world.jobs, {CostModel::kHardware, {}}, world.initial);
    std::vector<JobId> jobs;
    for (std::size_t j = 0; j < std::min<std::size_t>(40, world.jobs->size()); ++j) {
      cluster.apply(Event::submitted(world.jobs->job(JobId(j)).submit, JobId(j)));
      jobs.push_back(JobId(j));
    }
    const ScheduleProblem problem(cluster, jobs, 0);
    BatchSearch search(problem, std::uint64_t(seed));
    search.begin_with(std::vector<PlannedRuns>(problem.gpus()));
    search.complete(true);
    const double before = search.worth();
    search.refine(500, 0.01, 20'000);
    EXPECT_LE(search.worth(), before * (1 + 1e-9));
    std::set<std::uint16_t> planned;
    for (std::size_t g = 0; g < problem.gpus(); ++g)
      for (const PlannedRun run : search.lists()[g]) {
        EXPECT_TRUE(planned.insert(run.job).second) << "job " << run.job << " twice";
        EXPECT_GE(problem.run_s(run.job, g, run.where), 0);
      }
    EXPECT_EQ(planned.size(), jobs.size());
  }
}

}  // namespace
}  // namespace smartmig
