#include "eval/future_arrivals.h"

#include <gtest/gtest.h>

#include "support/fixture.h"

namespace smartmig {
namespace {

using namespace fixture;
constexpr CostModel kHardwareCosts{CostModel::kHardware, {}};

// Jobs of so many minutes that wait on one GPU with the layout; rules are put into them by hand. Keys: 1, 2, ...
Fork waiting(const std::vector<double>& run_min, std::string_view layout = "7g@0") {
  const auto fleet = platform("1xa100-40gb");
  Fork out;
  out.platform = fleet;
  out.cost = kHardwareCosts;
  out.reference_gpu = "a100-40gb";
  out.layouts = out.targets = layouts(*fleet, {std::string(layout)});
  out.blocked = {false};
  for (std::size_t j = 0; j < run_min.size(); ++j) {
    ForkJob one;
    one.job = job(0, 1000 + double(j), {run_min[j], run_min[j], run_min[j], run_min[j], run_min[j]});
    one.name = fmt::format("{}", j + 1);
    one.key = j + 1;
    out.jobs.push_back(one);
  }
  return out;
}

// `shape`: of the fork's layout, which stays.
PolicyMaker fixed(std::string shape) {
  return [shape](std::shared_ptr<const Platform> p) {
    PolicyOptions options;
    options.layouts = shape;
    return make_policy("static+edf", options, kHardwareCosts, *p);
  };
}

Outcome lived(const Fork& fork, const std::string& shape = "7g") {
  auto outcome = run_future(fork, fixed(shape));
  EXPECT_TRUE(bool(outcome)) << outcome.error().what;
  return outcome ? *outcome : Outcome{};
}

double start_min(const Outcome& outcome, std::size_t job) { return minutes(outcome.jobs[job].start); }

TEST(FutureArrivals, ABeginTimeIsKept) {
  Fork now = waiting({10, 5});
  now.jobs[0].begin = min(30);
  const Outcome then = lived(now);
  EXPECT_EQ(start_min(then, 0), 30);
  EXPECT_EQ(start_min(then, 1), 0) << "it goes ahead of one with an earlier deadline that may not start";
  now.jobs[0].begin = min(2);
  EXPECT_EQ(start_min(lived(now), 0), 5) << "its begin comes, and the GPU is busy";
}

TEST(FutureArrivals, WhatIsHeldHasNoStartAndNeitherHasWhatWaitsForIt) {
  Fork now = waiting({10, 5, 5, 5});
  now.jobs[0].held = true;
  now.jobs[1].after = {{1, ForkAfter::kEnds}};
  now.jobs[2].after = {{2, ForkAfter::kStarts}};
  const Outcome then = lived(now);
  EXPECT_EQ(then.jobs[0].no_start, NoStart::kHeld);
  EXPECT_EQ(then.jobs[1].no_start, NoStart::kWaitsForHeld);
  EXPECT_EQ(then.jobs[2].no_start, NoStart::kWaitsForHeld);
  for (const int j : {0, 1, 2}) {
    EXPECT_EQ(then.jobs[std::size_t(j)].start, kNever);
    EXPECT_EQ(then.jobs[std::size_t(j)].finish, kNever);
    EXPECT_FALSE(then.jobs[std::size_t(j)].late_s);
  }
  EXPECT_EQ(start_min(then, 3), 0);
  EXPECT_EQ(then.last_finish, min(5)) << "what never starts does not keep the future from its end";
  const auto etas = eta(now, fixed("7g"), 3, 1);
  ASSERT_TRUE(bool(etas));
  EXPECT_EQ(etas->jobs[0].no_start, NoStart::kHeld);
  EXPECT_FALSE(etas->jobs[0].on_time_ratio) << "it has no end";
  EXPECT_FALSE(etas->jobs[3].on_time_ratio) << "it has no deadline";
}

TEST(FutureArrivals, NothingThatStartsIsAFutureWithoutJobs) {
  Fork now = waiting({10});
  now.jobs[0].held = true;
  const Outcome then = lived(now);
  EXPECT_EQ(then.jobs[0].no_start, NoStart::kHeld);
  EXPECT_EQ(then.last_finish, now.now);
  EXPECT_EQ(then.energy_j, 0);
}

TEST(FutureArrivals, ChainsGoOnAsTheirDependenciesStartAndEnd) {
  Fork now = waiting({10, 5, 2, 1}, "3g@0+3g@4");
  now.jobs[1].after = {{1, ForkAfter::kEndsWell}};
  now.jobs[2].after = {{1, ForkAfter::kStarts}};
  now.jobs[3].after = {{2, ForkAfter::kEnds}, {3, ForkAfter::kEnds}};
  now.jobs[3].begin = min(4);
  const Outcome then = lived(now, "3g+3g");
  EXPECT_EQ(start_min(then, 0), 0);
  EXPECT_EQ(start_min(then, 1), 10);
  EXPECT_EQ(start_min(then, 2), 0) << "at the instant at which the other starts";
  EXPECT_EQ(start_min(then, 3), 15) << "both have ended";
}

TEST(FutureArrivals, WhatHoldsOnlyAfterAFailureIsCancelledAndFreesWhoWaits) {
  Fork now = waiting({10, 5, 5, 5, 5});
  now.jobs[1].after = {{1, ForkAfter::kEndsBadly}};
  now.jobs[2].after = {{2, ForkAfter::kEndsWell}};
  now.jobs[3].after = {{2, ForkAfter::kEnds}};
  now.jobs[4].after = {{3, ForkAfter::kEndsBadly}};
  const Outcome then = lived(now);
  EXPECT_EQ(then.jobs[1].no_start, NoStart::kDependencyFails);
  EXPECT_EQ(then.jobs[2].no_start, NoStart::kDependencyFails);
  EXPECT_EQ(start_min(then, 3), 10) << "the second is cancelled when the first ends";
  EXPECT_EQ(start_min(then, 4), 15);
}

TEST(FutureArrivals, AJobThatIsNotThereWasCancelled) {
  Fork now = waiting({10, 5, 5});
  now.jobs[0].after = {{77, ForkAfter::kEnds}};
  now.jobs[1].after = {{77, ForkAfter::kEndsWell}};
  now.jobs[2].after = {{2, ForkAfter::kEndsBadly}};
  const Outcome then = lived(now);
  EXPECT_EQ(start_min(then, 0), 0);
  EXPECT_EQ(then.jobs[1].no_start, NoStart::kDependencyFails);
  EXPECT_EQ(start_min(then, 2), 10);
}

TEST(FutureArrivals, AnArrayRunsNoMoreAtOnceThanItsLimit) {
  Fork now = waiting({10, 10, 10, 10, 3}, "1g@0+1g@1+1g@2+1g@3+1g@4+1g@5+1g@6");
  now.limits = {2};
  for (std::size_t j = 0; j < 4; ++j) now.jobs[j].array = 0;
  const Outcome then = lived(now, "1g+1g+1g+1g+1g+1g+1g");
  EXPECT_EQ(start_min(then, 1), 0);
  EXPECT_EQ(start_min(then, 2), 10);
  EXPECT_EQ(start_min(then, 3), 10);
  EXPECT_EQ(start_min(then, 4), 0) << "another job is no task of it";
}

// The first of a group by deadline may come later; then it takes the place of one that waits.
TEST(FutureArrivals, AGroupsPlaceGoesToTheFirstOfThoseThatMayRun) {
  Fork now = waiting({10, 5, 5});
  now.limits = {1};
  now.jobs[1].group = now.jobs[2].group = 0;
  now.jobs[1].declared = now.jobs[1].job.deadline = min(100);
  now.jobs[1].begin = min(4);
  now.jobs[2].declared = now.jobs[2].job.deadline = min(200);
  now.jobs[0].job.deadline = min(1);
  const Outcome then = lived(now);
  EXPECT_EQ(start_min(then, 0), 0);
  EXPECT_EQ(start_min(then, 1), 10);
  EXPECT_EQ(start_min(then, 2), 15);
}

TEST(FutureArrivals, AGroupCountsJobsOfAllUsersAndTasksOfArrays) {
  Fork now = waiting({10, 10, 10, 10}, "1g@0+1g@1+1g@2+1g@3+1g@4+1g@5+1g@6");
  now.limits = {3, 2};
  for (std::size_t j = 0; j < 4; ++j) {
    now.jobs[j].group = 1;
    now.jobs[j].user = std::uint32_t(j % 2);
  }
  now.jobs[0].array = now.jobs[2].array = 0;
  const Outcome then = lived(now, "1g+1g+1g+1g+1g+1g+1g");
  EXPECT_EQ(start_min(then, 0), 0);
  EXPECT_EQ(start_min(then, 1), 0);
  EXPECT_EQ(start_min(then, 2), 10);
  EXPECT_EQ(start_min(then, 3), 10);
}

TEST(FutureArrivals, WhatRanBeforeComesWithItsProgress) {
  Fork now = waiting({10});
  now.jobs[0].remaining = 0.5;
  now.jobs[0].started = Time{0};
  now.jobs[0].begin = min(20);
  const Outcome then = lived(now);
  EXPECT_EQ(start_min(then, 0), 20) << "the next start";
  EXPECT_EQ(then.jobs[0].finish, min(25));
}

}  // namespace
}  // namespace smartmig
