// The list planner in random worlds: every job ends, nothing illegal is asked for, no slice is made that no job takes, and
// no job waits on a fleet that has been idle since it came.
#include "policy/list_planner.h"

#include <gtest/gtest.h>

#include "random_world.h"
#include "sim/simulate.h"

namespace smartmig {
namespace {

using namespace random_world;
constexpr CostModel kRealCosts{CostModel::kHardware, {}};

// A policy beside the list planner that looks at every decision.
class WatchedPlanner : public Policy {
 public:
  void decide(const Cluster& cluster, Plan& plan) override {
    planner_.decide(cluster, plan);
    WaitingList anew;
    anew.update(cluster, {});
    std::size_t changing = 0;
    for (const GpuState& gpu : cluster.gpus()) changing += gpu.layout != gpu.target;
    if (cluster.running() == 0 && changing == 0 && !anew.entries().empty())
      EXPECT_FALSE(plan.starts.empty() && plan.reshapes.empty()) << "jobs wait on an idle fleet";
    EXPECT_LE(plan.reshapes.size(), anew.entries().size()) << "more GPUs change than jobs wait";
    started_.clear();
    for (const Start& start : plan.starts) started_.push_back(start.job);
    kept_.update(cluster, left_);
    ASSERT_EQ(kept_.entries().size(), anew.entries().size());
    for (std::size_t i = 0; i < anew.entries().size(); ++i) ASSERT_EQ(kept_.entries()[i].job, anew.entries()[i].job);
    EXPECT_EQ(kept_.late(), anew.late());
    left_ = started_;
  }

 private:
  ListPlanner planner_{{1e-4, {}, false}};
  WaitingList kept_;
  std::vector<JobId> started_, left_;
};

TEST(ListPlannerProperty, EveryJobEndsAndNothingIllegalIsAskedFor) {
  for (int seed = 1; seed <= cases(60); ++seed) {
    const World world = random_world::make(std::uint64_t(seed));
    SCOPED_TRACE(world.words());
    WatchedPlanner policy;
    const auto result = simulate({world.platform, world.jobs, kRealCosts, world.initial, 2e-7}, policy);
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(result->refused, 0u) << result->last_refusal;
    EXPECT_EQ(result->summary.unfinished_jobs, 0u);
  }
}

// One job on a fleet of idle GPUs changes at most one of them.
TEST(ListPlannerProperty, OneJobChangesOneGpuAtMost) {
  for (const int gpus : {1, 9, 64, 65, 500}) {
    const auto platform = std::make_shared<const Platform>(Platform::parse(fmt::format("{}xa100-40gb", gpus)).value());
    auto workload = std::make_shared<Workload>();
    Job job;
    job.deadline = from_minutes(22);
    for (int k : {1, 2, 3, 4, 7}) job.work[std::size_t(k - 1)] = from_minutes(16.0 + (7 - k));
    workload->jobs = {job};
    const auto table = std::make_shared<const JobTable>(JobTable::bind(workload, *platform).value());
    const Shape sevens = parse_shape(*platform->models()[0].gpu, "1g*7").value();
    const auto initial = initial_layouts(*platform, std::vector<Shape>(std::size_t(gpus), sevens)).value();
    ListPlanner policy{{1e-4, {}, false}};
    const auto result = simulate({platform, table, kRealCosts, initial, 2e-7}, policy);
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_LE(result->summary.repartitions, 1u) << gpus << " GPUs";
  }
}

}  // namespace
}  // namespace smartmig
