// MIGM's schedulers in random worlds of every kind of fleet: nothing they ask is refused, nothing is preempted, every
// job ends; queue order is kept by migm-b; and groups need no more repartition calls than queue order over the whole.
#include "policy/planner/migm.h"

#include <gtest/gtest.h>

#include "random_world.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

Job sized(double submit, double minutes, int mem_mib) {
  Job j = fixture::job(submit, -1, {minutes, minutes, minutes, minutes, minutes});
  j.mem_mib = mem_mib;
  return j;
}

struct Outcome {
  std::vector<std::string> slice;  // of each job
  std::vector<double> start_min;
  std::uint64_t repartitions, refused;
};

Outcome play_jobs(bool grouped, const std::vector<Job>& jobs, const std::string& initial) {
  const auto platform = fixture::platform("1xa100-40gb");
  const auto table = fixture::bind(jobs, *platform);
  Cluster cluster(platform, table, CostModel{CostModel::kHardware, {}}, fixture::layouts(*platform, {initial}));
  SimFleet fleet(cluster);
  Session session(fleet, std::move(cluster));
  Migm policy(grouped);
  run(session, policy);
  Outcome out{{}, {}, session.cluster().counters().repartitions, session.refused()};
  for (const JobState& state : session.cluster().states()) {
    EXPECT_EQ(state.phase, JobPhase::kDone);
    out.slice.push_back(state.type == kNoType ? "none" : platform->profile(state.type).name);
    out.start_min.push_back(minutes(state.first_start));
  }
  return out;
}

TEST(MigmRuns, TheTightestSliceThatHasTheMemory) {
  const Outcome out =
      play_jobs(false, {sized(0, 1, 4000), sized(10, 1, 9000), sized(20, 1, 15000), sized(30, 1, 30000)}, "7g@0");
  EXPECT_EQ(out.slice, (std::vector<std::string>{"1g.5gb", "1g.10gb", "3g.20gb", "7g.40gb"}));
  EXPECT_EQ(out.refused, 0u);
}

TEST(MigmRuns, QueueOrderReconfiguresForEveryChangeOfSizeAndGroupsDoNot) {
  // Whole-GPU jobs and small ones in turn, all there at once.
  std::vector<Job> jobs;
  for (int i = 0; i < 8; ++i) jobs.push_back(sized(0, 5, i % 2 ? 4000 : 30000));
  const Outcome order = play_jobs(false, jobs, "7g@0"), groups = play_jobs(true, jobs, "7g@0");
  EXPECT_EQ(order.refused + groups.refused, 0u);
  EXPECT_EQ(groups.repartitions, 1u);  // 7g for four jobs, then 1g for the other four
  EXPECT_EQ(order.repartitions, 7u);
  for (std::size_t i = 1; i < jobs.size(); ++i) EXPECT_GE(order.start_min[i], order.start_min[i - 1]);
  EXPECT_LT(groups.start_min[6], groups.start_min[1]);  // the group goes on before another begins
}

TEST(MigmRuns, IdleSlicesAreFusedAndSplit) {
  const Outcome fused = play_jobs(false, {sized(0, 1, 15000)}, "1g@0+1g@1+1g@2+1g@3+3g@4");
  EXPECT_EQ(fused.repartitions, 0u);  // the 3g is there
  const Outcome together = play_jobs(false, {sized(0, 9, 15000), sized(0, 1, 15000)}, "1g@0+1g@1+1g@2+1g@3+3g@4");
  EXPECT_EQ(together.repartitions, 1u);
  EXPECT_LT(together.start_min[1], 1);
  const Outcome split = play_jobs(false, {sized(0, 9, 15000), sized(0, 1, 4000)}, "3g@0+3g@4");
  EXPECT_EQ(split.repartitions, 1u);
  EXPECT_EQ(split.slice[1], "1g.5gb");
}

TEST(MigmRuns, ABusySliceIsWaitedForAndNobodyOvertakesInQueueOrder) {
  const std::vector<Job> jobs = {sized(0, 10, 4000), sized(1, 1, 30000), sized(2, 1, 4000)};
  const Outcome order = play_jobs(false, jobs, "7g@0"), groups = play_jobs(true, jobs, "7g@0");
  EXPECT_GT(order.start_min[1], 10);
  EXPECT_GT(order.start_min[2], order.start_min[1]);
  EXPECT_LT(groups.start_min[2], 3);  // beside the first, while the second waits for the whole GPU
}

struct Ran {
  std::uint64_t refused = 0, repartitions = 0;
  int stops = 0;
};

Ran play(const random_world::World& world, bool grouped, CostModel cost) {
  Cluster cluster(world.platform, world.jobs, cost, world.initial);
  random_world::CheckedFleet fleet(cluster);
  Session session(fleet, std::move(cluster));
  Migm migm(grouped);
  random_world::Checked policy(migm);
  run(session, policy);
  Ran ran{session.refused(), session.cluster().counters().repartitions, fleet.stops()};
  EXPECT_EQ(ran.refused, 0u) << session.last_refusal();
  Time last{};
  for (std::size_t j = 0; j < world.jobs->size(); ++j) {
    const JobState& state = session.cluster().states()[j];
    EXPECT_EQ(state.phase, JobPhase::kDone) << "job " << j;
    if (!grouped) {
      // A slice that is being made may be later than one that is there for the next job: only then starts differ.
      EXPECT_GE(state.first_start + from_seconds(120), last) << "job " << j;
      last = std::max(last, state.first_start);
    }
  }
  return ran;
}

TEST(MigmProperty, LegalPlansAndEveryJobEnds) {
  std::uint64_t by_group = 0, by_order = 0;
  for (int c = 0; c < cases(150); ++c) {
    const random_world::World world = random_world::make(std::uint64_t(c) + 31000);
    SCOPED_TRACE(world.words());
    const CostModel cost{CostModel::kHardware,
                         c % 3 == 0 ? std::optional<Time>(from_seconds(c % 2 ? 0.3 : 4)) : std::nullopt};
    const Ran grouped = play(world, true, cost), ordered = play(world, false, cost);
    EXPECT_EQ(grouped.stops + ordered.stops, 0);
    by_group += grouped.repartitions;
    by_order += ordered.repartitions;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_LT(by_group, by_order);
}

}  // namespace
}  // namespace smartmig
