#include "policy/planner/slice_price.h"

#include <gtest/gtest.h>

#include <string>

#include "support/fixture.h"

namespace smartmig {
namespace {

struct PricedFleet {
  std::shared_ptr<const Platform> platform;
  std::vector<Job> jobs;
  Cluster cluster;
  SlicePrice price{SlicePriceWeights{}};

  // `count` arrivals, `gap` minutes apart, of jobs of `run` minutes on a whole GPU.
  PricedFleet(int gpus, int count, double gap, double run)
      : platform(fixture::platform(std::to_string(gpus) + "xa100-40gb")),
        jobs(arrivals(count, gap, run)),
        cluster(platform, fixture::bind(jobs, *platform), {CostModel::kHardware, {}},
                fixture::layouts(*platform, std::vector<std::string>(std::size_t(gpus), "7g@0"))) {
    for (int j = 0; j < count; ++j) {
      cluster.apply(Event::submitted(fixture::min(j * gap), JobId(j)));
      look();
    }
  }
  static std::vector<Job> arrivals(int count, double gap, double run) {
    std::vector<Job> out;
    for (int j = 0; j < count; ++j) out.push_back(fixture::job(j * gap, -1, fixture::linear(run)));
    return out;
  }
  void look() {
    cluster.begin_decision();
    price.see_arrivals(cluster);
    cluster.end_decision(false);
  }
  void work() {  // all GPUs
    for (unsigned gpu = 0; gpu < cluster.gpus().size(); ++gpu)
      cluster.apply(Event::started(cluster.now(), JobId(gpu), GpuId(gpu), fixture::slice(*platform, gpu, "7g@0")));
    look();
  }
};

double price_after(int count, double gap, double run, std::size_t late, double waiting) {
  PricedFleet fleet(1, count, gap, run);
  if (count > 1) fleet.work();
  return fleet.price.price(fleet.cluster, {late, waiting, waiting / 3});
}

TEST(SlicePrice, NothingIsKnownOfTheFirstJob) { EXPECT_EQ(price_after(1, 1, 1, 0, 0), 0); }

TEST(SlicePrice, GrowsWithLoadWaitingWorkAndLateJobs) {
  const double calm = price_after(50, 10, 1, 0, 0), busy = price_after(50, 1.2, 1, 0, 0);
  EXPECT_LT(calm, busy);
  EXPECT_LT(busy, price_after(50, 1.2, 1, 0, 20));
  EXPECT_LT(busy, price_after(50, 1.2, 1, 3, 0));
}

// Three jobs of an hour within seconds, after nothing for long: the fleet is as free as before.
TEST(SlicePrice, AFewJobsAtOnceAreNoLoad) { EXPECT_LT(price_after(3, 0.05, 60, 0, 0), 0.05); }

// Jobs came as fast as ever, and the fleet is empty all the same: those that come find room.
TEST(SlicePrice, JobsToComeCostLessInAFleetThatIsEmptierThanTheLoadSays) {
  PricedFleet fleet(4, 200, 0.3, 1);
  const double idle = fleet.price.price(fleet.cluster, {});
  fleet.work();
  EXPECT_LT(idle, 0.5 * fleet.price.price(fleet.cluster, {}));
}

// The same work waits; while the fleet is idle it will be served at once.
TEST(SlicePrice, WhatWaitsCountsLessBesideIdleSlices) {
  PricedFleet fleet(4, 200, 0.3, 1);
  const double idle = fleet.price.price(fleet.cluster, {0, 2, 2});
  fleet.work();
  EXPECT_LT(idle, 0.7 * fleet.price.price(fleet.cluster, {0, 2, 2}));
}

// A burst of long jobs is over: the work that is left delays only itself, though the averages remember the burst for hours.
TEST(SlicePrice, AfterALongSilenceFewerAreExpected) {
  PricedFleet fleet(1, 50, 0.5, 10);
  fleet.work();
  const double busy = fleet.price.price(fleet.cluster, {0, 30, 30});
  fleet.cluster.pass(fleet.cluster.now() + fixture::min(2));  // four gaps: chance
  EXPECT_GT(fleet.price.price(fleet.cluster, {0, 30, 30}), 0.5 * busy);
  fleet.cluster.pass(fleet.cluster.now() + fixture::min(88));
  EXPECT_LT(fleet.price.price(fleet.cluster, {0, 30, 30}), 0.4 * busy);
}

// Those who come pass the longer jobs that wait.
TEST(SlicePrice, WhatThoseWhoComePassCountsNotAsBacklog) {
  PricedFleet fleet(4, 200, 0.3, 1);
  fleet.work();
  EXPECT_LT(fleet.price.price(fleet.cluster, {0, 30, 3}), 0.3 * fleet.price.price(fleet.cluster, {0, 30, 30}));
}

// At the same share of slices in use who comes to more GPUs waits more rarely.
TEST(SlicePrice, JobsToComeCostLessInALargerFleet) {
  PricedFleet few(4, 200, 0.45, 1), many(32, 1600, 0.45 / 8, 1);
  EXPECT_LT(many.price.price(many.cluster, {}), 0.7 * few.price.price(few.cluster, {}));
  few.work(), many.work();
  EXPECT_LT(many.price.price(many.cluster, {}), 0.7 * few.price.price(few.cluster, {}));
}

// The same queue in seconds or in days has the same price.
TEST(SlicePrice, HasNoUnit) { EXPECT_NEAR(price_after(50, 2, 1, 2, 30), price_after(50, 2000, 1000, 2, 30'000), 1e-9); }

// A user's backlog is shown a few jobs at a time: none of these needs room at once.
TEST(SlicePrice, AJobThatWasHeldBackForLongIsNoArrivalThatNeedsRoom) {
  PricedFleet fleet(1, 2, 0, 1);
  const auto seen = [&] {
    double jobs = 0;
    for (const double count : fleet.price.by_length().jobs) jobs += count;
    return jobs;
  };
  EXPECT_NEAR(seen(), 2, 1e-9);
  for (const double minute : {5.0, 30.0}) {  // it runs for seven minutes on a slot
    fleet.cluster.pass(fixture::min(minute));
    fleet.price.see_arrival(fleet.cluster, JobId(0));
    EXPECT_NEAR(seen(), 3, 0.1) << "at minute " << minute;
  }
}

}  // namespace
}  // namespace smartmig
