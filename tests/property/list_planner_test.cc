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
    EXPECT_LE(plan.reshapes.size(), anew.entries().size() + plan.stops.size()) << "more GPUs change than jobs want";
    for (const JobId job : plan.stops) {
      EXPECT_GE(cluster.jobs().job(job).restart, Time{0}) << "it cannot be stopped";
      EXPECT_LT(cluster.state(job).stops, ListPlanner::kMostStops);
    }
    stops_ += plan.stops.size();
    kept_.update(cluster, touched_);
    ASSERT_EQ(kept_.entries().size(), anew.entries().size());
    for (std::size_t i = 0; i < anew.entries().size(); ++i) ASSERT_EQ(kept_.entries()[i].job, anew.entries()[i].job);
    EXPECT_EQ(kept_.late(), anew.late());
    touched_ = plan.stops;
    for (const Start& start : plan.starts) touched_.push_back(start.job);
  }
  std::size_t stops() const { return stops_; }

 private:
  ListPlanner planner_{{1e-4, {}, false}};
  WaitingList kept_;
  std::vector<JobId> touched_;
  std::size_t stops_ = 0;
};

TEST(ListPlannerProperty, EveryJobEndsAndNothingIllegalIsAskedFor) {
  std::size_t stops = 0;
  for (int seed = 1; seed <= cases(60); ++seed) {
    const World world = random_world::make(std::uint64_t(seed));
    SCOPED_TRACE(world.words());
    WatchedPlanner policy;
    const auto result = simulate({world.platform, world.jobs, kRealCosts, world.initial, 2e-7}, policy);
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(result->refused, 0u) << result->last_refusal;
    EXPECT_EQ(result->summary.unfinished_jobs, 0u);
    stops += policy.stops();
  }
  EXPECT_GT(stops, 0u) << "no world in which a job was stopped";
}

// Moves that cannot pay are left out by bounds, and the list of jobs that may be stopped is kept: the same run.
TEST(ListPlannerProperty, WhatIsLeftOutAndKeptChangesNothing) {
  std::uint64_t stops = 0;
  for (int seed = 1; seed <= cases(60); ++seed) {
    const World world = random_world::make(40000 + std::uint64_t(seed));
    SCOPED_TRACE(world.words());
    MemoryJournal journals[2];
    for (const bool plain : {false, true}) {
      ListPlannerOptions options;
      options.w = seed % 2 == 0 ? 1e-4 : 1e-2;
      options.plain = plain;
      ListPlanner policy(options);
      const auto result =
          simulate({world.platform, world.jobs, kRealCosts, world.initial, 2e-7}, policy, &journals[plain]);
      ASSERT_TRUE(result) << result.error().what;
      stops += result->final.counters().preemptions;
    }
    const auto &a = journals[0].events(), &b = journals[1].events();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_TRUE(a[i].at == b[i].at && a[i].kind == b[i].kind && a[i].job == b[i].job && a[i].gpu == b[i].gpu &&
                  a[i].where == b[i].where && a[i].layout == b[i].layout)
          << "event " << i;
  }
  EXPECT_GT(stops, 0u) << "no world in which a job was stopped";
}

// A job is not started on a slice on which it misses its deadline while an idle slice that exists, and that nobody else
// takes, meets it at no higher cost. Without energy and price, cost is lateness.
TEST(ListPlannerProperty, NoJobIsStartedLateBesideASliceThatMeetsItsDeadline) {
  struct Watched : Policy {
    ListPlanner planner{{0, {0, 0, 0, 4}}};
    void decide(const Cluster& cluster, Plan& plan) override {
      planner.decide(cluster, plan);
      if (cluster.unfinished() - cluster.running() != 1 || plan.starts.size() != 1) return;
      const Start& start = plan.starts[0];
      constexpr Time kLeastRun{1};  // a job without work is planned for a microsecond
      const Time deadline = cluster.jobs().job(start.job).deadline;
      const auto finish = [&](GpuId gpu, PlacementId p) {
        return cluster.finish_on(start.job, cluster.platform().model(gpu).type_of_placement[index(p)]);
      };
      if (deadline == kNever || finish(start.gpu, start.where) <= deadline + kLeastRun) return;
      for (std::uint32_t g = 0; g < cluster.gpus().size(); ++g)
        for (const PlacementId p : cluster.gpus()[g].free())
          if (cluster.platform().model(GpuId(g)).type_of_placement[index(p)] != kNoType)
            EXPECT_GT(finish(GpuId(g), p), deadline) << "job " << index(start.job) << " on GPU " << g;
    }
  };
  for (int seed = 1; seed <= cases(60); ++seed) {
    const World world = random_world::make(std::uint64_t(seed));
    SCOPED_TRACE(world.words());
    Watched policy;
    ASSERT_TRUE(simulate({world.platform, world.jobs, kRealCosts, world.initial, 2e-7}, policy));
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
