#include "model/cluster.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::min;

// A cluster driven by hand: each call is one event, at a minute.
struct Desk {
  std::shared_ptr<const Platform> platform;
  Cluster cluster;

  Desk(const char* gpus, std::vector<Job> jobs, const std::vector<std::string>& layouts, CostModel cost = {},
       const char* power = "auto", std::vector<std::string> kinds = {})
      : platform(fixture::platform(gpus, power)),
        cluster(platform, fixture::bind(std::move(jobs), *platform, std::move(kinds)), cost,
                fixture::layouts(*platform, layouts)) {}
  void submit(double at, unsigned job) { cluster.apply(Event::submitted(min(at), JobId(job))); }
  void finish(double at, unsigned job) { cluster.apply(Event::finished(min(at), JobId(job))); }
  void stop(double at, unsigned job) { cluster.apply(Event::stopped(min(at), JobId(job))); }
  void start(double at, unsigned job, unsigned gpu, const char* where) {
    cluster.apply(Event::started(min(at), JobId(job), GpuId(gpu), fixture::slice(*platform, gpu, where)));
  }
  const JobState& job(unsigned id) const { return cluster.state(JobId(id)); }
  TypeId type(unsigned gpu, const char* where) const {
    return platform->type_of(GpuId(gpu), fixture::slice(*platform, gpu, where));
  }
};

const CostModel kHardware{CostModel::kHardware, {}};

TEST(Cluster, EnergyUsesTheWattsOfTheIntervalThatEnded) {
  // The papers' table: 4 busy slices 243.9 W, 7 busy 248.5 W, 3 busy 205.3 W, none 40 W.
  Desk d("1xa100-40gb", {fixture::job(0, 100, fixture::linear(10)), fixture::job(10, 100, fixture::linear(6))},
         {"4g@0+3g@4"});
  d.submit(0, 0);
  d.start(0, 0, 0, "4g@0");  // 17.5 min
  d.submit(10, 1);
  d.start(10, 1, 0, "3g@4");  // 14 min
  EXPECT_EQ(d.job(0).finish, min(17.5));
  EXPECT_EQ(d.job(1).finish, min(24));
  d.finish(17.5, 0);
  d.finish(24, 1);
  EXPECT_NEAR(watt_minutes(d.cluster.total_joules()), 10 * 243.9 + 7.5 * 248.5 + 6.5 * 205.3, 1e-9);
  // Shares of the watts above idle, by compute slices.
  EXPECT_NEAR(watt_minutes(d.cluster.attributed_joules(JobId(0))), 10 * 203.9 + 7.5 * 208.5 * 4 / 7, 1e-9);
  EXPECT_NEAR(watt_minutes(d.cluster.attributed_joules(JobId(1))), 7.5 * 208.5 * 3 / 7 + 6.5 * 165.3, 1e-9);
  EXPECT_EQ(d.cluster.gpus()[0].watts, 40);
}

Job crowded(double minutes, double log_slowdown, double beside) {
  Job job = fixture::job(0, -1, {minutes, minutes, minutes, minutes, minutes});
  job.crowding = {log_slowdown, beside};
  return job;
}

TEST(Cluster, NeighboursSlowEachOtherWhereJobsSaySo) {
  const double full = std::log(1.25) * 7;  // one seventh more of the board: 1.25 times as long
  Desk d("1xa100-40gb", {crowded(10, full, 0), crowded(10, full, 1.0 / 7), crowded(10, 0, 0)}, {"1g@0+1g@1+1g@2"},
         kHardware);
  for (const unsigned job : {0u, 1u, 2u}) d.submit(0, job);
  d.start(0, 0, 0, "1g@0");
  EXPECT_NEAR(minutes(d.job(0).finish), 10, 1e-6);
  d.start(4, 1, 0, "1g@1");
  EXPECT_NEAR(minutes(d.job(0).finish), 4 + 1.25 * 6, 1e-6);
  EXPECT_NEAR(minutes(d.job(1).finish), 14, 1e-6) << "its times are those beside one other";
  EXPECT_NEAR(minutes(d.cluster.time_left(JobId(0))), 6, 1e-6) << "by the table";
  d.start(6, 2, 0, "1g@2");
  EXPECT_NEAR(minutes(d.job(0).finish), 6 + 1.25 * 5.5, 1e-6);
  EXPECT_NEAR(minutes(d.job(1).finish), 6 + 1.25 * 8, 1e-6);
  EXPECT_NEAR(minutes(d.job(2).finish), 16, 1e-6) << "one that says nothing is slowed by nobody";
  d.cluster.apply(Event::finished(d.job(0).finish, JobId(0)));
  EXPECT_NEAR(minutes(d.job(1).finish), 12.875 + 2.5, 1e-6);
  d.stop(13.875, 1);
  EXPECT_NEAR(minutes(d.job(1).remaining), 1.5, 1e-6);
  d.finish(16, 2);
  d.start(20, 1, 0, "1g@1");
  EXPECT_NEAR(minutes(d.job(1).finish), 20 + 1.5 / 1.25, 1e-6) << "alone it is faster than by its table";
}

TEST(Cluster, WhoIsSlowedDrawsLessByAsMuch) {
  // 20 W a slice above 100 W idle.
  const double full = std::log(1.25) * 7;
  Desk d("1xa100-40gb", {crowded(10, full, 0), crowded(10, full, 0)}, {"1g@0+1g@1"}, kHardware, "linear:100:20:700");
  d.submit(0, 0);
  d.submit(0, 1);
  d.start(0, 0, 0, "1g@0");
  EXPECT_NEAR(d.cluster.gpus()[0].watts, 120, 1e-9);
  d.start(4, 1, 0, "1g@1");
  EXPECT_NEAR(d.cluster.gpus()[0].watts, 132, 1e-6) << "two at four fifths of their speed";
  d.finish(11.5, 0);
  EXPECT_NEAR(d.cluster.gpus()[0].watts, 120, 1e-6);
  d.finish(15.5, 1);
  for (const unsigned job : {0u, 1u})
    EXPECT_NEAR(d.cluster.attributed_joules(JobId(job)), 20 * 600, 1e-3) << "its work takes the same joules";
}

TEST(Cluster, WhatComputesNothingSlowsNobody) {
  Job idle = fixture::job(0, -1, {10, 10, 10, 10, 10});
  idle.idle = true;
  Desk d("1xa100-40gb", {crowded(10, 2, 0), idle}, {"1g@0+1g@1"}, kHardware);
  d.submit(0, 0);
  d.submit(0, 1);
  d.start(0, 0, 0, "1g@0");
  d.start(0, 1, 0, "1g@1");
  EXPECT_EQ(d.job(0).finish, min(10));
  d.finish(10, 0);
  EXPECT_EQ(d.cluster.attributed_joules(JobId(1)), 0) << "nor draws it anything";
  EXPECT_GT(d.cluster.attributed_joules(JobId(0)), 0);
}

TEST(Cluster, JoulesAreRightBetweenEvents) {
  Desk d("2xa100-40gb", {fixture::job(0, 100, fixture::linear(10)), fixture::job(5, 100, fixture::linear(10))},
         {"7g@0", "7g@0"});
  d.submit(0, 0);
  d.start(0, 0, 1, "7g@0");
  d.submit(5, 1);  // nothing settles here, yet the clock moved
  EXPECT_NEAR(watt_minutes(d.cluster.joules(GpuId(0))), 5 * 40, 1e-9);
  EXPECT_NEAR(watt_minutes(d.cluster.joules(GpuId(1))), 5 * 248.5, 1e-9);
  EXPECT_NEAR(watt_minutes(d.cluster.attributed_joules(JobId(0))), 5 * 208.5, 1e-9);
}

TEST(Cluster, AdditivePowerSharesByWhatEachJobAdds) {
  // A job on k slices adds 30 k W; 4 + 3 slices would draw 250 W, above the cap of 220 W.
  Desk d("1xa100-40gb", {fixture::job(0, 100, fixture::linear(10)), fixture::job(0, 100, fixture::linear(6))},
         {"4g@0+3g@4"}, {}, "linear:40:30:220");
  d.submit(0, 0);
  d.submit(0, 1);
  d.start(0, 0, 0, "4g@0");
  EXPECT_EQ(d.cluster.gpus()[0].watts, 160);
  d.start(0, 1, 0, "3g@4");
  EXPECT_EQ(d.cluster.gpus()[0].watts, 220);  // capped
  d.finish(14, 1);
  d.finish(17.5, 0);
  EXPECT_NEAR(watt_minutes(d.cluster.attributed_joules(JobId(0))), 14 * 180 * 4 / 7 + 3.5 * 120, 1e-9);
  EXPECT_NEAR(watt_minutes(d.cluster.attributed_joules(JobId(1))), 14 * 180 * 3 / 7, 1e-9);
  EXPECT_NEAR(watt_minutes(d.cluster.total_joules()), 14 * 220 + 3.5 * 160, 1e-9);
}

TEST(Cluster, ProgressIsCarriedAcrossSizes) {
  Desk d("2xa100-40gb", {fixture::job(0, 100, fixture::linear(7))}, {"7g@0", "2g@0+1g@4"});
  d.submit(0, 0);
  EXPECT_EQ(d.cluster.finish_on(JobId(0), d.type(1, "1g@4")), min(49));
  d.start(0, 0, 0, "7g@0");
  EXPECT_EQ(d.job(0).finish, min(7));
  d.stop(3.5, 0);  // half done on 7g: half of 49 minutes are left on 1g
  EXPECT_EQ(d.cluster.remaining_on(JobId(0), d.type(1, "1g@4")), min(24.5));
  EXPECT_EQ(d.cluster.remaining_on(JobId(0), d.type(1, "2g@0")), min(12.25));
  EXPECT_EQ(d.cluster.remaining_on(JobId(0), d.type(0, "7g@0")), min(3.5));
  d.start(3.5, 0, 1, "1g@4");
  EXPECT_EQ(d.job(0).finish, min(28));
  // While it runs: at 15.75 half of the rest is done.
  d.stop(15.75, 0);
  d.start(15.75, 0, 0, "7g@0");
  EXPECT_EQ(d.job(0).finish, min(17.5));
  EXPECT_EQ(d.job(0).stops, 2u);
  EXPECT_EQ(d.job(0).first_start, min(0));
}

TEST(Cluster, AJobThatStaysKeepsItsFinishToTheMicrosecond) {
  Job odd = fixture::job(0, 100, {});
  odd.work[6] = Time(1'000'003);
  odd.work[0] = Time(3'000'017);
  Desk d("3xa100-40gb", {odd}, {"7g@0", "7g@0", "1g@0"});
  d.submit(0, 0);
  d.start(0, 0, 0, "7g@0");
  for (int i = 1; i <= 50; ++i) {  // to and fro between equal slices, at odd instants
    d.cluster.begin_decision();
    d.cluster.apply(Event::stopped(Time(i * 17'777), JobId(0)));
    d.cluster.apply(Event::started(Time(i * 17'777), JobId(0), GpuId(i % 2), fixture::slice(*d.platform, 0, "7g@0")));
    ASSERT_EQ(d.job(0).finish, Time(1'000'003));
  }
  EXPECT_EQ(d.cluster.counters().moves, 50u);
  EXPECT_EQ(d.cluster.counters().preemptions, 0u);
}

TEST(Cluster, CountersTellMovesFromPreemptions) {
  Desk d("2xa100-40gb", {fixture::job(0, 100, fixture::linear(7))}, {"4g@0+1g@4", "4g@0+1g.10gb@6"});
  d.submit(0, 0);
  d.start(0, 0, 0, "4g@0");
  d.cluster.begin_decision();
  d.stop(1, 0);
  EXPECT_EQ(d.cluster.counters().preemptions, 1u);
  d.start(1, 0, 1, "4g@0");  // same size, same decision: a move after all
  EXPECT_EQ(d.cluster.counters().preemptions, 0u);
  EXPECT_EQ(d.cluster.counters().moves, 1u);
  d.cluster.begin_decision();
  d.stop(2, 0);
  d.start(2, 0, 0, "1g@4");  // another size
  EXPECT_EQ(d.cluster.counters().preemptions, 1u);
  d.cluster.begin_decision();
  d.stop(3, 0);
  d.start(3, 0, 1, "1g.10gb@6");  // one compute slice as before, though another profile
  EXPECT_EQ(d.cluster.counters().moves, 2u);
  d.cluster.begin_decision();
  d.stop(4, 0);
  d.cluster.begin_decision();
  d.start(5, 0, 0, "1g@4");  // it waited a while: that was a preemption
  EXPECT_EQ(d.cluster.counters().preemptions, 2u);
  EXPECT_EQ(d.cluster.counters().moves, 2u);
}

TEST(Cluster, HardwareRestartHoldsTheSliceAtBusyPower) {
  Job job = fixture::job(0, 100, fixture::linear(7));
  job.restart = min(2);
  Desk d("2xa100-40gb", {job}, {"7g@0", "3g@0"}, kHardware);
  d.submit(0, 0);
  d.start(0, 0, 0, "7g@0");
  EXPECT_EQ(d.job(0).finish, min(7));  // the first start is not a restart
  d.stop(3.5, 0);
  EXPECT_EQ(d.cluster.remaining_on(JobId(0), d.type(0, "7g@0")), min(3.5));  // restart apart
  EXPECT_EQ(d.cluster.finish_on(JobId(0), d.type(0, "7g@0")), min(3.5 + 2 + 3.5));
  d.start(4, 0, 0, "7g@0");
  EXPECT_EQ(d.cluster.gpus()[0].watts, 248.5);
  EXPECT_EQ(d.job(0).since, min(6));
  EXPECT_EQ(d.job(0).finish, min(9.5));
  d.stop(5, 0);  // in the middle of the hold: no progress was made, none is lost
  EXPECT_EQ(d.job(0).remaining, min(3.5));
  d.start(5, 0, 0, "7g@0");
  EXPECT_EQ(d.job(0).finish, min(10.5));
  d.finish(10.5, 0);
  EXPECT_NEAR(watt_minutes(d.cluster.joules(GpuId(0))), 10 * 248.5 + 0.5 * 40, 1e-9);
}

TEST(Cluster, RefusesWhatIsIllegal) {
  Job small = fixture::job(0, 100, {10, -1, -1, -1, -1});
  Desk d("1xa100-40gb", {small, fixture::job(0, 100, fixture::linear(1)), fixture::job(0, 100, fixture::linear(1))},
         {"4g@0+1g@4"}, kHardware);
  const PlacementId one = fixture::slice(*d.platform, 0, "1g@4"), four = fixture::slice(*d.platform, 0, "4g@0"),
                    two = fixture::slice(*d.platform, 0, "2g@4");
  const auto start = [&](unsigned job, unsigned gpu, PlacementId where) {
    return d.cluster.refusal_of_start({JobId(job), GpuId(gpu), where});
  };
  EXPECT_EQ(start(0, 0, one), Refusal::kNotQueued);  // not yet submitted
  d.submit(0, 0);
  d.submit(0, 1);
  EXPECT_EQ(start(9, 0, one), Refusal::kNoSuchJob);
  EXPECT_EQ(start(0, 1, one), Refusal::kNoSuchGpu);
  EXPECT_EQ(start(0, 0, two), Refusal::kNoSuchSlice);
  EXPECT_EQ(start(0, 0, kNoPlacement), Refusal::kNoSuchSlice);
  EXPECT_EQ(start(0, 0, four), Refusal::kDoesNotFit);
  EXPECT_EQ(start(0, 0, one), Refusal::kNone);
  d.start(0, 0, 0, "1g@4");
  EXPECT_EQ(start(1, 0, one), Refusal::kSliceBusy);
  EXPECT_EQ(start(0, 0, four), Refusal::kNotQueued);
  EXPECT_EQ(d.cluster.refusal_of_stop(JobId(1)), Refusal::kNotRunning);
  EXPECT_EQ(d.cluster.refusal_of_stop(JobId(7)), Refusal::kNoSuchJob);
  EXPECT_EQ(d.cluster.refusal_of_stop(JobId(0)), Refusal::kNotPreemptible);  // no restart cost under hardware costs
  const Layout seven = fixture::layout(*d.platform, 0, "7g@0");
  EXPECT_EQ(d.cluster.refusal_of_reshape({GpuId(3), seven}), Refusal::kNoSuchGpu);
  EXPECT_EQ(d.cluster.refusal_of_reshape({GpuId(0), seven}), Refusal::kNone);  // busy slices go when idle
  d.cluster.apply(Event::reshape_asked(min(0), GpuId(0), seven));
  EXPECT_EQ(start(1, 0, four), Refusal::kSliceGoing);
  EXPECT_EQ(explain(d.cluster, Refusal::kSliceGoing, JobId(1), GpuId(0), four),
            fmt::format("GPU 0 placement {} is about to be destroyed", index(four)));
  EXPECT_EQ(explain(d.cluster, Refusal::kNotPreemptible, JobId(0), kNoGpu, kNoPlacement),
            "job 0 cannot be preempted: it is not restartable");

  Desk paper("1xa100-40gb", {small}, {"4g@0+1g@4"});
  paper.submit(0, 0);
  paper.start(0, 0, 0, "1g@4");
  EXPECT_EQ(paper.cluster.refusal_of_stop(JobId(0)), Refusal::kNone);
  EXPECT_EQ(paper.cluster.refusal_of_reshape({GpuId(0), seven}), Refusal::kSliceBusy);
}

TEST(Cluster, UnfinishedJobsInOrderOfArrivalAndNews) {
  const fixture::Work w = fixture::linear(1);
  Desk d("1xa100-40gb", {fixture::job(0, 9, w), fixture::job(0, 9, w), fixture::job(0, 9, w)}, {"1g@0+1g@1"});
  for (unsigned j : {0u, 1u, 2u}) d.submit(0, j);
  EXPECT_EQ(d.cluster.news().size(), 3u);
  d.cluster.end_decision(true);
  EXPECT_TRUE(d.cluster.last_plan_refused());
  EXPECT_TRUE(d.cluster.news().empty());
  d.start(0, 1, 0, "1g@0");
  EXPECT_TRUE(d.cluster.news().empty());  // actions are no news
  d.finish(7, 1);
  ASSERT_EQ(d.cluster.news().size(), 1u);
  EXPECT_EQ(d.cluster.news()[0].job, JobId(1));
  std::vector<unsigned> left;
  for (JobId j = d.cluster.first_unfinished(); j != kNoJob; j = d.cluster.next_unfinished(j)) left.push_back(index(j));
  EXPECT_EQ(left, (std::vector<unsigned>{0, 2}));
  EXPECT_EQ(d.cluster.unfinished(), 2u);
}

TEST(Cluster, ACopyIsAnotherClusterAndAMovedOneTheSame) {
  Desk d("1xa100-40gb", {fixture::job(0, 9, fixture::linear(1))}, {"7g@0"});
  d.submit(0, 0);
  Cluster copy = d.cluster;
  EXPECT_NE(copy.identity(), d.cluster.identity());
  copy.apply(Event::started(min(1), JobId(0), GpuId(0), fixture::slice(*d.platform, 0, "7g@0")));
  EXPECT_EQ(d.cluster.state(JobId(0)).phase, JobPhase::kQueued);
  const auto identity = copy.identity();
  Cluster moved = std::move(copy);
  EXPECT_EQ(moved.identity(), identity);
  EXPECT_EQ(moved.running(), 1u);
  d.cluster = moved;
  EXPECT_NE(d.cluster.identity(), identity);
}

TEST(ClusterDeathTest, BrokenHistoriesStopTheProgram) {
  Desk d("1xa100-40gb", {fixture::job(0, 9, fixture::linear(1))}, {"7g@0"});
  d.submit(5, 0);
  EXPECT_DEATH(d.submit(6, 0), "submitted twice");
  EXPECT_DEATH(d.finish(6, 0), "finished without running");
  EXPECT_DEATH(d.start(4, 0, 0, "7g@0"), "after the clock");
  d.start(5, 0, 0, "7g@0");
  EXPECT_DEATH(d.cluster.apply(Event::destroyed(min(6), GpuId(0), fixture::layout(*d.platform, 0, "7g@0"))),
               "busy slice was destroyed");
  EXPECT_DEATH(d.cluster.apply(Event::created(min(6), GpuId(0), fixture::layout(*d.platform, 0, "1g@0"))),
               "created over another");
}

}  // namespace
}  // namespace smartmig
