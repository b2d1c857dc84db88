#include "policy/planner/batch_schedule.h"

#include <gtest/gtest.h>

#include "support/fixture.h"

namespace smartmig {
namespace {

constexpr CostModel kTimedChanges{CostModel::kHardware, {}};

struct PaperWorld {
  std::shared_ptr<const Platform> platform = fixture::platform("1xa100-40gb");
  std::vector<JobId> jobs;
  Cluster cluster;
  PaperWorld(const std::vector<fixture::Work>& minutes, const std::string& layout, CostModel cost = kTimedChanges)
      : cluster(platform, table(minutes), cost, fixture::layouts(*platform, {layout})) {
    for (std::size_t j = 0; j < minutes.size(); ++j) {
      jobs.push_back(JobId(j));
      cluster.apply(Event::submitted(Time{0}, JobId(j)));
    }
  }
  std::shared_ptr<const JobTable> table(const std::vector<fixture::Work>& minutes) {
    std::vector<Job> rows;
    for (const fixture::Work& m : minutes) rows.push_back(fixture::job(0, -1, m));
    return fixture::bind(rows, *platform);
  }
  std::uint8_t at(std::string_view text) const { return std::uint8_t(index(fixture::slice(*platform, 0, text))); }
};

const fixture::Work kEven{10, 8, 6, 4, 2};

TEST(BatchSchedule, ASliceThatExistsCostsNothingAndOneToBeMadeItsSeconds) {
  const PaperWorld world({kEven, kEven}, "4g@0+3g@4");
  const ScheduleProblem problem(world.cluster, world.jobs, 0);
  PaperBoard board = problem.board(0);
  ASSERT_TRUE(problem.lay(0, {0, world.at("4g@0")}, board));
  EXPECT_DOUBLE_EQ(board.end_s, 240);
  EXPECT_DOUBLE_EQ(board.change_s, 0);
  ASSERT_TRUE(problem.lay(0, {1, world.at("2g@4")}, board));
  EXPECT_NEAR(board.change_s, 0.21 + 0.17, 1e-9) << "3g goes, 2g comes";
  EXPECT_NEAR(board.end_s, 480.38, 1e-9);
}

TEST(BatchSchedule, WhatARunTeachesIsTakenOff) {
  Job job = fixture::job(0, -1, {10, 10, 10, 10, 10});
  const auto platform = fixture::platform("1xa100-40gb");
  double worth[2];
  for (const bool teaches : {false, true}) {
    if (teaches) job.teaches[2] = 0.02f;
    Cluster cluster(platform, fixture::bind({job}, *platform), kTimedChanges,
                    fixture::layouts(*platform, {"4g@0+3g@4"}));
    cluster.apply(Event::submitted(Time{0}, JobId(0)));
    const JobId jobs[] = {JobId(0)};
    const ScheduleProblem problem(cluster, jobs, 0);
    PaperBoard board = problem.board(0);
    problem.lay(0, {0, std::uint8_t(index(fixture::slice(*platform, 0, "3g@4")))}, board);
    worth[teaches] = problem.worth(problem.value_of(0, board));
  }
  EXPECT_NEAR(worth[0] - worth[1], 0.02 * 3 / 7, 1e-6) << "2 % of its slice-seconds, over those of the GPU";
}

TEST(BatchSchedule, ALargeSliceWaitsForAllBelowIt) {
  const PaperWorld world({kEven, kEven, kEven}, "4g@0+3g@4");
  const ScheduleProblem problem(world.cluster, world.jobs, 0);
  PaperBoard board = problem.board(0);
  problem.lay(0, {0, world.at("4g@0")}, board);
  problem.lay(0, {1, world.at("3g@4")}, board);
  problem.lay(0, {2, world.at("7g@0")}, board);
  EXPECT_NEAR(board.end_s, 360 + 0.21 + 0.21 + 0.24 + 120, 1e-9);
}

TEST(BatchSchedule, RunningJobsHoldTheirSlots) {
  PaperWorld world({kEven, kEven}, "4g@0+3g@4");
  world.cluster.apply(Event::started(Time{0}, JobId(0), GpuId(0), PlacementId(world.at("3g@4"))));
  const JobId waiting[] = {JobId(1)};
  const ScheduleProblem problem(world.cluster, waiting, 0);
  PaperBoard board = problem.board(0);
  EXPECT_DOUBLE_EQ(board.end_s, 360);
  problem.lay(0, {0, world.at("3g@4")}, board);
  EXPECT_DOUBLE_EQ(board.end_s, 720);
}

TEST(BatchSchedule, AFixedTimeOfAChangeIsTakenOnce) {
  const PaperWorld world({kEven}, "4g@0+3g@4", {CostModel::kHardware, from_seconds(30)});
  const ScheduleProblem problem(world.cluster, world.jobs, 0);
  PaperBoard board = problem.board(0);
  problem.lay(0, {0, world.at("7g@0")}, board);
  EXPECT_DOUBLE_EQ(board.end_s, 150);
}

TEST(BatchSchedule, AJobRunsOnlyWhereItCan) {
  const PaperWorld world({{-1, -1, -1, 5, -1}}, "7g@0");
  const ScheduleProblem problem(world.cluster, world.jobs, 0);
  PaperBoard board = problem.board(0);
  EXPECT_FALSE(problem.lay(0, {0, world.at("7g@0")}, board));
  EXPECT_TRUE(problem.lay(0, {0, world.at("4g@0")}, board));
  EXPECT_EQ(problem.efficient_slices(0), 4);
}

// Slots that do not overlap are all that a layout needs: what the schedule believes for every model.
TEST(BatchSchedule, DisjointSlotsMakeALayoutOnEveryModel) {
  for (const auto& model : Catalog::builtin().models()) {
    const GpuModel& gpu = *model;
    std::vector<PlacementId> offered;
    for (std::size_t p = 0; p < gpu.placements().size(); ++p)
      if (gpu.schedulable_profiles() >> gpu.placements()[p].profile & 1) offered.push_back(PlacementId(p));
    for (const Layout layout : gpu.layouts(gpu.schedulable_profiles()))
      for (const PlacementId p : offered) {
        const bool apart = (gpu.memory_mask(layout) & gpu.placement(p).mask) == 0;
        EXPECT_EQ(gpu.fits(layout, p), apart) << gpu.name() << " " << to_string(gpu, layout) << " and " << index(p);
      }
  }
}

}  // namespace
}  // namespace smartmig
