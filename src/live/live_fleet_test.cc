#include "live/live_fleet.h"

#include <gtest/gtest.h>

#include "sched/session.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::min;

struct Two {
  std::shared_ptr<const Platform> platform = fixture::platform("2xa100-40gb");
  std::shared_ptr<const JobTable> jobs =
      fixture::bind({fixture::job(0, 9, fixture::linear(5)), fixture::job(0, 9, fixture::linear(5))}, *platform);
  Cluster cluster{platform, jobs, {CostModel::kHardware, {}}, fixture::layouts(*platform, {"7g@0", "7g@0"})};
  LiveFleet fleet{cluster};
  std::vector<Event> none;
  Event event;
  void ask(unsigned gpu, const char* layout) {
    const Event asked = Event::reshape_asked(cluster.now(), GpuId(gpu), fixture::layout(*platform, gpu, layout));
    cluster.apply(asked);
    fleet.begin(cluster, asked, none);
  }
};

TEST(LiveFleet, EndsComeBeforeOperationsAndArrivalsLast) {
  Two w;
  w.cluster.apply(Event::submitted({}, JobId(0)));
  w.cluster.apply(Event::started({}, JobId(0), GpuId(0), fixture::slice(*w.platform, 0, "7g@0")));
  w.ask(0, "4g@0+3g@4");
  w.ask(1, "4g@0+3g@4");
  w.fleet.tell(Event::submitted(min(1), JobId(1)));
  w.fleet.tell(Event::finished(min(1), JobId(0)));
  ASSERT_TRUE(w.fleet.next(w.cluster, w.event));
  EXPECT_EQ(w.event.kind, EventKind::kFinished);
  w.cluster.apply(w.event);
  for (const unsigned gpu : {0u, 1u}) {  // both are idle now
    ASSERT_TRUE(w.fleet.next(w.cluster, w.event));
    EXPECT_EQ(w.event.kind, EventKind::kDestroyed);
    EXPECT_EQ(index(w.event.gpu), gpu);
    w.cluster.apply(w.event);
  }
  ASSERT_TRUE(w.fleet.next(w.cluster, w.event));
  EXPECT_EQ(w.event.kind, EventKind::kSubmitted);
  w.cluster.apply(w.event);
  EXPECT_FALSE(w.fleet.next(w.cluster, w.event));
  EXPECT_EQ(w.fleet.take_effects().size(), 2u);
}

TEST(LiveFleet, WhoLeavesBeforeItsArrivalIsToldWasNeverThere) {
  Two w;
  w.fleet.tell(Event::submitted(min(1), JobId(0)));
  w.fleet.tell(Event::submitted(min(1), JobId(1)));
  w.fleet.tell(Event::withdrawn(min(2), JobId(0)));
  EXPECT_FALSE(w.fleet.withdrawals());
  ASSERT_TRUE(w.fleet.next(w.cluster, w.event));
  EXPECT_EQ(w.event.kind, EventKind::kSubmitted);
  EXPECT_EQ(w.event.job, JobId(1));
  w.cluster.apply(w.event);
  EXPECT_FALSE(w.fleet.next(w.cluster, w.event));
  EXPECT_FALSE(w.fleet.has_news());
}

TEST(LiveFleet, AnOverrunOfWhoLeavesIsNotTold) {
  Two w;
  w.cluster.apply(Event::submitted({}, JobId(0)));
  w.cluster.apply(Event::started({}, JobId(0), GpuId(0), fixture::slice(*w.platform, 0, "7g@0")));
  w.fleet.tell(Event::overrun(min(1), JobId(0)));
  w.fleet.tell(Event::withdrawn(min(2), JobId(0)));
  ASSERT_TRUE(w.fleet.next(w.cluster, w.event));
  EXPECT_EQ(w.event.kind, EventKind::kWithdrawn);
  w.cluster.apply(w.event);
  EXPECT_FALSE(w.fleet.next(w.cluster, w.event));
}

// Else a decision between the two could stop a job that has ended.
TEST(LiveFleet, EndsOfJobsThatCouldBeStoppedAreToldInOneGo) {
  for (const bool stoppable : {false, true}) {
    Two w;
    std::vector<Job> jobs(2, fixture::job(0, 9, fixture::linear(5)));
    if (stoppable) jobs[1].restart = min(0.1);
    Cluster cluster(w.platform, fixture::bind(jobs, *w.platform), w.cluster.cost(),
                    fixture::layouts(*w.platform, {"7g@0", "7g@0"}));
    LiveFleet fleet(cluster);
    for (const unsigned job : {0u, 1u}) {
      cluster.apply(Event::submitted({}, JobId(job)));
      cluster.apply(Event::started({}, JobId(job), GpuId(job), fixture::slice(*w.platform, job, "7g@0")));
      fleet.tell(Event::finished(min(3 + job), JobId(job)));
    }
    Session session(fleet, std::move(cluster));
    ASSERT_TRUE(session.advance());
    EXPECT_EQ(session.cluster().unfinished(), stoppable ? 0u : 1u);
  }
}

TEST(LiveFleet, ACreatedSliceIsNotMadeTwiceBeforeItIsTold) {
  Two w;
  w.ask(0, "4g@0+3g@4");
  ASSERT_TRUE(w.fleet.next(w.cluster, w.event));
  w.cluster.apply(w.event);
  w.fleet.take_effects();
  w.fleet.destroyed(GpuId(0));
  EXPECT_FALSE(w.fleet.next(w.cluster, w.event));
  auto effects = w.fleet.take_effects();
  ASSERT_EQ(effects.size(), 1u);
  EXPECT_EQ(effects[0].what, LiveFleet::Effect::kCreate);
  const GpuModel& model = *w.platform->model(GpuId(0)).gpu;
  w.fleet.created(GpuId(0), min(1), *model.with(Layout{}, effects[0].where));
  ASSERT_TRUE(w.fleet.next(w.cluster, w.event));
  EXPECT_EQ(w.event.kind, EventKind::kCreated);
  EXPECT_TRUE(w.fleet.take_effects().empty());
  w.cluster.apply(w.event);
  EXPECT_FALSE(w.fleet.next(w.cluster, w.event));
  effects = w.fleet.take_effects();
  ASSERT_EQ(effects.size(), 1u);  // the other one
}

TEST(LiveFleet, AFailedOperationPausesTwiceAsLongEachTime) {
  Two w;
  w.ask(1, "4g@0+3g@4");
  Time pause = from_seconds(5);
  Time now{};
  for (int i = 0; i < 10; ++i, pause = std::min(2 * pause, from_seconds(300))) {
    w.fleet.set_clock(now);
    ASSERT_TRUE(w.fleet.next(w.cluster, w.event)) << i;
    w.cluster.apply(w.event);
    const Time again = w.fleet.operation_failed(GpuId(1), now);
    EXPECT_EQ(again, now + pause);
    EXPECT_EQ(w.fleet.next_retry(), again);
    w.fleet.tell(Event::created(w.cluster.now(), GpuId(1), w.event.layout));
    ASSERT_TRUE(w.fleet.next(w.cluster, w.event));
    EXPECT_EQ(w.event.kind, EventKind::kCreated) << "still there";
    w.cluster.apply(w.event);
    EXPECT_FALSE(w.fleet.next(w.cluster, w.event)) << "not before its pause is over";
    now = again;
  }
}

TEST(LiveFleet, ABlockedGpuIsLeftAlone) {
  Two w;
  w.ask(0, "4g@0+3g@4");
  w.cluster.apply(Event::blocked(w.cluster.now(), GpuId(0)));
  EXPECT_FALSE(w.fleet.next(w.cluster, w.event));
  w.cluster.apply(Event::unblocked(w.cluster.now(), GpuId(0)));
  EXPECT_TRUE(w.fleet.next(w.cluster, w.event));
}

}  // namespace
}  // namespace smartmig
