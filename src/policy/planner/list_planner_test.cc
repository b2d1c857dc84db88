#include "policy/planner/list_planner.h"

#include <gtest/gtest.h>

#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::linear;
using fixture::min;

constexpr CostModel kListCosts{CostModel::kHardware, {}};
const fixture::Work kGainsNothing{10, 9.8, 9.6, 9.4, 9};

struct PlannedFleet {
  std::shared_ptr<const Platform> platform;
  Cluster cluster;
  ListPlanner planner{{}};
  Plan plan;

  PlannedFleet(const char* gpus, const std::vector<std::string>& layouts, std::vector<Job> jobs)
      : platform(fixture::platform(gpus)),
        cluster(platform, fixture::bind(std::move(jobs), *platform), kListCosts, fixture::layouts(*platform, layouts)) {
  }
  void arrive(unsigned job) { cluster.apply(Event::submitted(cluster.jobs().job(JobId(job)).submit, JobId(job))); }
  void run(unsigned job, unsigned gpu, const char* where) {
    cluster.apply(Event::started(cluster.now(), JobId(job), GpuId(gpu), fixture::slice(*platform, gpu, where)));
  }
  const Plan& decide() {
    plan.clear();
    cluster.begin_decision();
    planner.decide(cluster, plan);
    cluster.end_decision(false);
    return plan;
  }
};

TEST(ListPlanner, OneJobOnAnIdleFleetStartsAtOnceAndChangesNothing) {
  PlannedFleet f("3xa100-40gb", {"7g@0", "7g@0", "7g@0"}, {fixture::job(0, 2, linear(1))});
  f.arrive(0);
  EXPECT_EQ(f.decide().starts.size(), 1u);
  EXPECT_TRUE(f.plan.reshapes.empty());
}

// Two jobs that gain nothing from a whole GPU, one of which runs there: the idle GPU takes the other, now.
TEST(ListPlanner, NobodyWaitsBesideAnIdleGpu) {
  PlannedFleet f("2xa100-40gb", {"7g@0", "7g@0"}, {fixture::job(0, 100, linear(50)), fixture::job(1, 500, linear(50))});
  f.arrive(0);
  f.run(0, 0, "7g@0");
  f.arrive(1);
  ASSERT_EQ(f.decide().starts.size(), 1u);
  EXPECT_EQ(f.plan.starts[0].gpu, GpuId(1));
}

// Eight hours on the whole GPU, and two GPUs: the second leaves slots for those who come, unless its owner is alone.
TEST(ListPlanner, ALongJobWithoutADeadlineLeavesRoomForThoseWhoCome) {
  const fixture::Work long_job{1543, 1018, 798, 672, 480};
  for (const bool shared : {true, false}) {
    SCOPED_TRACE(shared);
    std::vector<Job> jobs = {fixture::job(0, -1, long_job), fixture::job(1, -1, long_job)};
    PlannedFleet f("2xa100-40gb", {"7g@0", "7g@0"}, jobs);
    f.planner = ListPlanner({.shared = shared});
    f.arrive(0);
    f.decide();
    f.run(0, 0, "7g@0");
    f.arrive(1);
    f.decide();
    ASSERT_EQ(f.plan.starts.size() + f.plan.reshapes.size(), 1u);
    if (!shared) {
      EXPECT_EQ(f.plan.starts.size(), 1u) << "the whole GPU, which is there";
    } else {
      ASSERT_EQ(f.plan.reshapes.size(), 1u) << "a slice has to be made";
      EXPECT_EQ(f.plan.reshapes[0].gpu, GpuId(1));
    }
  }
}

TEST(ListPlanner, OneWhoseOwnerDeclaredADeadlineKeepsNoRoom) {
  std::vector<Job> jobs = {fixture::job(0, 600, {1543, 1018, 798, 672, 480}),
                           fixture::job(1, 600, {1543, 1018, 798, 672, 480})};
  PlannedFleet f("2xa100-40gb", {"7g@0", "7g@0"}, jobs);
  f.planner = ListPlanner({.shared = true});
  f.arrive(0);
  f.decide();
  f.run(0, 0, "7g@0");
  f.arrive(1);
  EXPECT_EQ(f.decide().starts.size(), 1u);
  // One that keeps the peace between users is no declared one.
  jobs[1].undeclared = true;
  PlannedFleet fair("2xa100-40gb", {"7g@0", "7g@0"}, jobs);
  fair.planner = ListPlanner({.shared = true});
  fair.arrive(0);
  fair.decide();
  fair.run(0, 0, "7g@0");
  fair.arrive(1);
  EXPECT_EQ(fair.decide().starts.size(), 0u);
}

// One job has time enough for the slower GPU, the other needs the faster one; the one with time is the shorter and chooses
// first. Between them they price the slices.
TEST(ListPlanner, AJobWithTimeLeavesTheFasterGpuToOneWithout) {
  std::vector<Job> jobs = {fixture::job(0, 60, linear(10)), fixture::job(0, 12, linear(12))};
  PlannedFleet f("1xh100-94gb,1xa100-40gb", {"7g@0", "7g@0"}, jobs);
  f.arrive(0);
  f.arrive(1);
  const TypeId fast = f.platform->type_of(GpuId(0), fixture::slice(*f.platform, 0, "7g@0"));
  ASSERT_LT(f.cluster.jobs().work(JobId(0), fast), min(10)) << "the H100 is faster";
  ASSERT_EQ(f.decide().starts.size(), 2u);
  for (const Start& start : f.plan.starts) EXPECT_EQ(start.gpu, GpuId(start.job == JobId(0) ? 1 : 0));
}

// Both slices are free and a minute apart in a hundred: what it teaches decides, but not for a job with a deadline.
TEST(ListPlanner, TriesASizeThatTeachesWhereTheChoiceHardlyMatters) {
  for (const double due : {-1.0, 50.0}) {
    Job job = fixture::job(0, due, {110, 105, 100.0, 99.5, 120});
    for (const bool teaches : {false, true}) {
      if (teaches) job.teaches[2] = 0.02f;
      PlannedFleet f("1xa100-40gb", {"4g@0+3g@4"}, {job});
      f.cluster.apply(Event::submitted(Time{0}, JobId(0)));
      ASSERT_EQ(f.decide().starts.size(), 1u);
      const TypeId type = f.platform->type_of(GpuId(0), f.plan.starts[0].where);
      EXPECT_EQ(f.platform->type(type).compute_slices, teaches && due < 0 ? 3 : 4) << due << teaches;
    }
  }
}

// On the free 1g it would end after 70 minutes; the whole GPU is free in one.
TEST(ListPlanner, WaitsForASliceOnWhichItEndsEarlier) {
  PlannedFleet f("1xa100-40gb", {"1g@6+4g@0"}, {fixture::job(0, 30, linear(1)), fixture::job(0, 12, linear(10))});
  f.arrive(0);
  f.run(0, 0, "4g@0");
  f.arrive(1);
  EXPECT_TRUE(f.decide().starts.empty());
  EXPECT_TRUE(f.plan.reshapes.empty());
}

TEST(ListPlanner, AChangeIsMadeOnceAndOnlyForAJob) {
  PlannedFleet f("2xa100-40gb", {"1g@0+1g@1+1g@2+1g@3+1g@4+1g@5+1g@6", "1g@0+1g@1+1g@2+1g@3+1g@4+1g@5+1g@6"},
                 {fixture::job(0, 11, linear(10))});
  f.arrive(0);
  ASSERT_EQ(f.decide().reshapes.size(), 1u);
  const GpuId gpu = f.plan.reshapes[0].gpu;
  EXPECT_EQ(f.plan.reshapes[0].to.size(), 1);
  f.cluster.apply(Event::reshape_asked(f.cluster.now(), gpu, f.plan.reshapes[0].to));
  f.cluster.apply(Event::destroyed(f.cluster.now(), gpu, fixture::layout(*f.platform, 0, "1g@0")));
  EXPECT_TRUE(f.decide().reshapes.empty());
  EXPECT_TRUE(f.plan.starts.empty());
}

// The cheapest for each by itself is 3g: then the third waits. Smaller slices hold all three, and the size that was
// promised stays while it is being made.
TEST(ListPlanner, JobsTakeSmallerSlicesWhereOthersWouldWait) {
  const std::vector<Job> jobs(3, fixture::job(0, -1, {0.45, 0.3, 0.22, 0.2, 0.17}));
  PlannedFleet f("1xa100-40gb", {"7g@0"}, jobs);
  for (unsigned job = 0; job < 3; ++job) f.arrive(job);
  ASSERT_EQ(f.decide().reshapes.size(), 1u);
  const Layout to = f.plan.reshapes[0].to;
  EXPECT_EQ(to.size(), 3) << "each has a slice";
  f.cluster.apply(Event::reshape_asked(f.cluster.now(), GpuId(0), to));
  f.cluster.apply(
      Event::destroyed(f.cluster.now() + fixture::min(0.004), GpuId(0), fixture::layout(*f.platform, 0, "7g@0")));
  EXPECT_TRUE(f.decide().reshapes.empty());
}

// A burst of jobs that gain nothing from large slices: the first does not take the whole GPU.
TEST(ListPlanner, JobsOfABurstShareTheGpu) {
  std::vector<Job> jobs(14, fixture::job(0, -1, kGainsNothing));
  PlannedFleet f("1xa100-40gb", {"7g@0"}, jobs);
  for (unsigned j = 0; j < jobs.size(); ++j) f.arrive(j);
  f.decide();
  EXPECT_TRUE(f.plan.starts.empty());
  ASSERT_EQ(f.plan.reshapes.size(), 1u);
  EXPECT_EQ(f.plan.reshapes[0].to.size(), 7);
}

// A job on an idle GPU takes the whole of it, if little came lately; where jobs came one after the other it leaves room for
// the next.
TEST(ListPlanner, AfterAStreamAJobLeavesRoomForTheNext) {
  for (const double gap : {40.0, 1.0}) {
    std::vector<Job> jobs;
    for (int j = 0; j < 30; ++j) jobs.push_back(fixture::job(j * gap, -1, {13.2, 9.4, 7.6, 6.6, 5}));
    PlannedFleet f("1xa100-40gb", {"7g@0"}, jobs);
    for (unsigned j = 0; j + 1 < jobs.size(); ++j) {
      f.arrive(j);
      f.decide();
      f.run(j, 0, "7g@0");
      f.cluster.apply(Event::finished(f.cluster.now(), JobId(j)));
    }
    f.arrive(unsigned(jobs.size()) - 1);
    f.decide();
    EXPECT_EQ(f.plan.starts.size(), gap > 30 ? 1u : 0u);
    EXPECT_EQ(f.plan.reshapes.size(), gap > 30 ? 0u : 1u);
  }
}

// The whole GPU came too late for the one who wanted it, and small slices have been asked for since: it is used, or
// nothing more would ever happen.
TEST(ListPlanner, ASliceThatWasToGoIsKeptAndUsed) {
  PlannedFleet f("1xa100-40gb", {"7g@0"}, {fixture::job(0, 2, linear(1))});
  f.cluster.apply(Event::reshape_asked(min(0), GpuId(0), fixture::layout(*f.platform, 0, "1g@0+1g@1")));
  f.arrive(0);
  ASSERT_EQ(f.decide().starts.size(), 1u);
  ASSERT_EQ(f.plan.reshapes.size(), 1u);
  EXPECT_TRUE(f.plan.reshapes[0].to.contains(f.plan.starts[0].where));
}

TEST(ListPlanner, ABlockedGpuTakesNothing) {
  PlannedFleet f("2xa100-40gb", {"7g@0", "7g@0"}, {fixture::job(0, 2, linear(1))});
  f.cluster.apply(Event::blocked(min(0), GpuId(0)));
  f.arrive(0);
  ASSERT_EQ(f.decide().starts.size(), 1u);
  EXPECT_EQ(f.plan.starts[0].gpu, GpuId(1));
}

// A long training with days to spare holds the only GPU; a short job is due soon.
struct LongAndShort : PlannedFleet {
  LongAndShort(double restart_min, double submit_short)
      : PlannedFleet("1xa100-40gb", {"7g@0"}, jobs(restart_min, submit_short)) {
    arrive(0);
    run(0, 0, "7g@0");
    arrive(1);
  }
  static std::vector<Job> jobs(double restart_min, double submit_short) {
    Job training = fixture::job(0, 5000, linear(600)), urgent = fixture::job(submit_short, submit_short + 8, linear(5));
    if (restart_min >= 0) training.restart = min(restart_min);
    return {training, urgent};
  }
};

TEST(ListPlanner, AnUrgentJobDisplacesATrainingThatCanBeStopped) {
  LongAndShort f(0.5, 60);
  ASSERT_EQ(f.decide().stops, std::vector<JobId>{JobId(0)});
  ASSERT_EQ(f.plan.starts.size(), 1u);
  EXPECT_EQ(f.plan.starts[0].job, JobId(1));
}

TEST(ListPlanner, WhoCannotBeStoppedIsNeverStopped) {
  LongAndShort f(-1, 60);
  EXPECT_TRUE(f.decide().stops.empty());
}

TEST(ListPlanner, AJobThatHasJustBegunIsNotStopped) {
  LongAndShort f(0.5, 1);
  EXPECT_TRUE(f.decide().stops.empty());
}

TEST(ListPlanner, ARestartThatCostsMoreThanTheLatenessIsNotPaid) {
  LongAndShort f(600, 3100);
  EXPECT_TRUE(f.decide().stops.empty());
}

// One at a time in the order of the list the long job would be late by an hour; first, it makes the short one late by a
// minute at most.
TEST(ListPlanner, AJobThatWouldBeLateMayGoFirst) {
  PlannedFleet f("1xa100-40gb", {"7g@0"}, {fixture::job(0, 61, linear(60)), fixture::job(0, 400, linear(50))});
  f.arrive(0);
  f.arrive(1);
  ASSERT_EQ(f.decide().starts.size(), 1u);
  EXPECT_EQ(f.plan.starts[0].job, JobId(0));
}

// Six of eight GPUs are taken by jobs whose times nobody knows: the seventh leaves slots open, unless its owner is alone.
TEST(ListPlanner, JobsOfUnknownTimeLeaveSlotsOpen) {
  for (const bool shared : {true, false}) {
    SCOPED_TRACE(shared);
    Job unknown = fixture::job(0, -1, linear(10));
    unknown.spread = 2;
    PlannedFleet f("8xa100-40gb", std::vector<std::string>(8, "7g@0"), std::vector<Job>(7, unknown));
    f.planner = ListPlanner({.shared = shared});
    for (unsigned j = 0; j < 6; ++j) {
      f.arrive(j);
      f.decide();
      if (j == 0) EXPECT_EQ(f.plan.starts.size(), 1u) << "the first may take a whole GPU";
      f.run(j, j, "7g@0");
    }
    f.arrive(6);
    f.decide();
    EXPECT_EQ(f.plan.starts.size(), shared ? 0u : 1u);
    EXPECT_EQ(f.plan.reshapes.size(), shared ? 1u : 0u) << "a smaller slice has to be made";
  }
}

// GPU 0 is half busy for long, its other half for five minutes; GPU 1 is idle. Beside others a job adds fewer watts.
struct TimeToSpare : PlannedFleet {
  explicit TimeToSpare(bool patient) : PlannedFleet("2xa100-40gb", {"4g@0+3g@4", "4g@0+3g@4"}, jobs(patient)) {
    ListPlannerOptions options;
    options.w = 1e-3;
    planner = ListPlanner(options);
    for (unsigned j = 0; j < 3; ++j) arrive(j);
    run(0, 0, "4g@0");
    run(1, 0, "3g@4");
  }
  static std::vector<Job> jobs(bool patient) {
    Job with_time = fixture::job(0, 300, kGainsNothing);
    with_time.patient = patient;
    return {fixture::job(0, 500, {1, 1, 1, 400, 400}), fixture::job(0, 500, {1, 1, 5, 5, 5}), with_time};
  }
};

TEST(ListPlanner, NobodyWaitsForEnergyUnlessItIsPatient) {
  TimeToSpare f(false);
  f.decide();
  EXPECT_EQ(f.plan.starts.size() + f.plan.reshapes.size(), 1u) << "it starts, or its slice is made";
  EXPECT_EQ(f.plan.look_again, kNever);
}

TEST(ListPlanner, APatientJobWaitsForASliceBesideOthersAndNoLongerThanItCan) {
  TimeToSpare f(true);
  EXPECT_TRUE(f.decide().starts.empty());
  EXPECT_TRUE(f.plan.reshapes.empty());
  const auto planned = f.planner.planned_starts(f.cluster);
  ASSERT_EQ(planned.size(), 1u);
  EXPECT_EQ(planned[0].job, JobId(2));
  EXPECT_EQ(planned[0].gpu, GpuId(0));
  EXPECT_GE(planned[0].start, min(5));
  EXPECT_EQ(planned[0].latest, f.plan.look_again);
  EXPECT_GT(f.plan.look_again, min(285));
  EXPECT_LT(f.plan.look_again, min(300));
}

// An hour by what was told; three GPUs are busy for a minute, one for long. Now it could have a 1g, or wait for a whole GPU.
TEST(ListPlanner, AJobOfUnknownTimeMayWaitForAWholeGpuThatIsFreeSoon) {
  std::vector<Job> jobs;
  for (int g = 0; g < 4; ++g) jobs.push_back(fixture::job(0, -1, fixture::linear(g == 3 ? 500 : 2)));
  jobs.push_back(fixture::job(1, -1, fixture::linear(60)));
  jobs.back().spread = 0.7;
  PlannedFleet f("4xa100-40gb", {"7g@0", "7g@0", "7g@0", "3g@4+1g@0"}, jobs);
  f.planner = ListPlanner({.shared = true});
  for (unsigned g = 0; g < 4; ++g) f.arrive(g);
  for (unsigned g = 0; g < 3; ++g) f.run(g, g, "7g@0");
  f.run(3, 3, "3g@4");
  f.arrive(4);
  EXPECT_TRUE(f.decide().starts.empty()) << "a whole GPU is free in a minute";
  const auto planned = f.planner.planned_starts(f.cluster);
  ASSERT_EQ(planned.size(), 1u);
  EXPECT_LT(planned[0].start, min(5));
  // A mean that rests on a few very long cases is no reason to wait long beside a free slice.
  jobs[4].spread = 2;
  for (int g = 0; g < 3; ++g) jobs[std::size_t(g)] = fixture::job(0, -1, fixture::linear(400));
  PlannedFleet wide("4xa100-40gb", {"7g@0", "7g@0", "7g@0", "3g@4+1g@0"}, jobs);
  wide.planner = ListPlanner({.shared = true});
  for (unsigned g = 0; g < 4; ++g) wide.arrive(g);
  for (unsigned g = 0; g < 3; ++g) wide.run(g, g, "7g@0");
  wide.run(3, 3, "3g@4");
  wide.arrive(4);
  EXPECT_EQ(wide.decide().starts.size(), 1u);
}

}  // namespace
}  // namespace smartmig
