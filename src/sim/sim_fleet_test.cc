// The rules of the hardware cost model, each on a case small enough to follow. Times of an A100: create 1g 0.16 s, 2g
// 0.17 s, 3g 0.20 s, 4g 0.21 s, 7g 0.24 s; destroy 1g and 2g 0.20 s, 3g and 4g 0.21 s, 7g 0.22 s.
#include "sim/sim_fleet.h"

#include <gtest/gtest.h>

#include <functional>

#include "sched/session.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::min;

// Runs a script over a fleet and keeps the journal in words: "12.5 created 0:1g.5gb@4", times in seconds.
struct Script : Policy {
  std::function<void(const Cluster&, Plan&)> script;
  std::shared_ptr<const Platform> platform;
  MemoryJournal journal;
  std::unique_ptr<Session> session;

  Script(const char* gpus, std::vector<std::string> layouts, std::vector<Job> jobs, std::optional<Time> reshape,
         std::function<void(const Cluster&, Plan&)> what)
      : script(std::move(what)), platform(fixture::platform(gpus)) {
    Cluster cluster(platform, fixture::bind(std::move(jobs), *platform), {CostModel::kHardware, reshape},
                    fixture::layouts(*platform, layouts));
    SimFleet fleet(cluster);
    session = std::make_unique<Session>(fleet, std::move(cluster), &journal);
    run(*session, *this);
  }
  void decide(const Cluster& cluster, Plan& plan) override { script(cluster, plan); }

  std::string layout_in_words(const Event& e) const { return to_string(*platform->model(e.gpu).gpu, e.layout); }
  std::vector<std::string> words() const {
    std::vector<std::string> out;
    for (const Event& e : journal.events()) {
      const double at = seconds(e.at);
      switch (e.kind) {
        case EventKind::kSubmitted:
          out.push_back(fmt::format("{} new {}", at, index(e.job)));
          break;
        case EventKind::kFinished:
          out.push_back(fmt::format("{} end {}", at, index(e.job)));
          break;
        case EventKind::kStarted:
          out.push_back(fmt::format("{} start {} {}", at, index(e.job), fixture::name(*platform, e.gpu, e.where)));
          break;
        case EventKind::kStopped:
          out.push_back(fmt::format("{} stop {}", at, index(e.job)));
          break;
        case EventKind::kReshapeAsked:
          out.push_back(fmt::format("{} want {}:{}", at, index(e.gpu), layout_in_words(e)));
          break;
        case EventKind::kDestroyed:
          out.push_back(fmt::format("{} destroy {}:{}", at, index(e.gpu), layout_in_words(e)));
          break;
        case EventKind::kCreated:
          out.push_back(fmt::format("{} created {}:{}", at, index(e.gpu), layout_in_words(e)));
          break;
      }
    }
    return out;
  }
  static const Event& cause(const Cluster& cluster) { return cluster.news().back(); }
};
using Words = std::vector<std::string>;

Job at_second(double submit, double seconds, std::optional<double> restart = {}) {
  Job job = fixture::job(0, -1, {});
  job.submit = from_seconds(submit);
  for (const int size : {1, 2, 3, 4, 7}) job.work[std::size_t(size - 1)] = from_seconds(seconds);
  if (restart) job.restart = from_seconds(*restart);
  return job;
}

// Starts `job` on the first free slice, if it waits.
void start_if_possible(const Cluster& cluster, Plan& plan, JobId job) {
  if (cluster.state(job).phase != JobPhase::kQueued) return;
  for (std::size_t g = 0; g < cluster.gpus().size(); ++g)
    for (PlacementId p : cluster.gpus()[g].free()) return plan.starts.push_back({job, GpuId(g), p});
}

TEST(SimFleet, OperationsOfOneGpuAreSequential) {
  // 7g goes (0.22 s), then 4g (0.21 s) and 2g (0.17 s) come one after the other, by placement (2g before 4g in the
  // table). The second GPU does the same at the same time. Slices are usable from the end of their create.
  Script s("2xa100-40gb", {"7g@0", "7g@0"}, {at_second(0, 10), at_second(1, 1)}, {}, [](const Cluster& c, Plan& plan) {
    if (c.decision() == 1)
      for (unsigned g : {0u, 1u}) plan.reshapes.push_back({GpuId(g), fixture::layout(c.platform(), g, "4g@0+2g@4")});
    start_if_possible(c, plan, JobId(0));
    if (c.decision() > 8) start_if_possible(c, plan, JobId(1));
  });
  EXPECT_EQ(s.words(),
            (Words{"0 new 0", "0 want 0:4g.20gb@0+2g.10gb@4", "0 want 1:4g.20gb@0+2g.10gb@4", "0 destroy 0:7g.40gb@0",
                   "0 destroy 1:7g.40gb@0", "0.39 created 0:2g.10gb@4", "0.39 start 0 0:2g.10gb@4",
                   "0.39 created 1:2g.10gb@4", "0.6 created 0:4g.20gb@0", "0.6 created 1:4g.20gb@0", "1 new 1",
                   "10.39 end 0", "10.39 start 1 0:2g.10gb@4", "11.39 end 1"}));
  EXPECT_EQ(s.session->refused(), 1u);  // the first decision tried the 7g that it had just given up
}

TEST(SimFleet, OneTimeForAWholeReshape) {
  Script s("1xa100-40gb", {"7g@0"}, {at_second(0, 10)}, from_seconds(4), [](const Cluster& c, Plan& plan) {
    if (c.decision() == 1)
      return plan.reshapes.push_back({GpuId(0), fixture::layout(c.platform(), 0, "4g@0+2g@4+1g@6")});
    start_if_possible(c, plan, JobId(0));
  });
  EXPECT_EQ(s.words(), (Words{"0 new 0", "0 want 0:4g.20gb@0+2g.10gb@4+1g.5gb@6", "0 destroy 0:7g.40gb@0",
                              "4 created 0:4g.20gb@0+2g.10gb@4+1g.5gb@6", "4 start 0 0:1g.5gb@6", "14 end 0"}));
}

TEST(SimFleet, ReshapeInNoTimeAtAll) {
  Script s("1xa100-40gb", {"7g@0"}, {at_second(0, 10)}, Time{0}, [](const Cluster& c, Plan& plan) {
    if (c.decision() == 1) return plan.reshapes.push_back({GpuId(0), fixture::layout(c.platform(), 0, "4g@0")});
    start_if_possible(c, plan, JobId(0));
  });
  EXPECT_EQ(s.words(), (Words{"0 new 0", "0 want 0:4g.20gb@0", "0 destroy 0:7g.40gb@0", "0 created 0:4g.20gb@0",
                              "0 start 0 0:4g.20gb@0", "10 end 0"}));
}

TEST(SimFleet, BusySlicesGoWhenIdleNeighboursRunOnAndNothingStartsOnThem) {
  // 4g+3g, both busy. At 1 s the GPU is to become 3g@0 + 3g@4: the 4g goes when its job ends at 5 s, the 3g runs on.
  // Job 2 waits for the new 3g: 5 + 0.21 + 0.20 s.
  Script s("1xa100-40gb", {"4g@0+3g@4"}, {at_second(0, 5), at_second(0, 9), at_second(1, 2)}, {},
           [](const Cluster& c, Plan& plan) {
             const auto slice = [&](const char* text) { return fixture::slice(c.platform(), 0, text); };
             if (c.decision() == 1)
               plan.starts = {{JobId(0), GpuId(0), slice("4g@0")}, {JobId(1), GpuId(0), slice("3g@4")}};
             if (c.decision() == 2) plan.reshapes.push_back({GpuId(0), fixture::layout(c.platform(), 0, "3g@0+3g@4")});
             if (c.decision() == 3) {  // the 4g is idle, yet on its way out
               EXPECT_EQ(c.gpu(GpuId(0)).free().size(), 0);
               EXPECT_EQ(c.refusal_of_start({JobId(2), GpuId(0), slice("4g@0")}), Refusal::kSliceGoing);
             }
             if (c.decision() > 3) start_if_possible(c, plan, JobId(2));
           });
  EXPECT_EQ(s.words(), (Words{"0 new 0", "0 new 1", "0 start 0 0:4g.20gb@0", "0 start 1 0:3g.20gb@4", "1 new 2",
                              "1 want 0:3g.20gb@0+3g.20gb@4", "5 end 0", "5 destroy 0:4g.20gb@0",
                              "5.41 created 0:3g.20gb@0", "5.41 start 2 0:3g.20gb@0", "7.41 end 2", "9 end 1"}));
  // Power is that of the busy slices: 7, then 3, then 6, then 3 (watts 248.5, 205.3, 248.5, 205.3).
  EXPECT_NEAR(s.session->cluster().total_joules(), 5 * 248.5 + 0.41 * 205.3 + 2 * 248.5 + 1.59 * 205.3, 1e-9);
}

TEST(SimFleet, WhatIsIdleAtOneInstantGoesTogether) {
  // Both jobs end at 5 s; with one time per reshape, one operation takes both slices.
  Script s("1xa100-40gb", {"3g@0+3g@4"}, {at_second(0, 5), at_second(0, 5), at_second(1, 1)}, from_seconds(2),
           [](const Cluster& c, Plan& plan) {
             if (c.decision() == 1)
               plan.starts = {{JobId(0), GpuId(0), fixture::slice(c.platform(), 0, "3g@0")},
                              {JobId(1), GpuId(0), fixture::slice(c.platform(), 0, "3g@4")}};
             if (c.decision() == 2) plan.reshapes.push_back({GpuId(0), fixture::layout(c.platform(), 0, "7g@0")});
             if (c.decision() > 4) start_if_possible(c, plan, JobId(2));
           });
  EXPECT_EQ(s.words(), (Words{"0 new 0", "0 new 1", "0 start 0 0:3g.20gb@0", "0 start 1 0:3g.20gb@4", "1 new 2",
                              "1 want 0:7g.40gb@0", "5 end 0", "5 end 1", "5 destroy 0:3g.20gb@0+3g.20gb@4",
                              "7 created 0:7g.40gb@0", "7 start 2 0:7g.40gb@0", "8 end 2"}));
}

TEST(SimFleet, ARetargetInTheMiddleOfAnOperation) {
  // 7g is to become 4g; 0.3 s later (the create runs from 0.22 to 0.43) it is to become 3g@0 after all: the 4g comes,
  // goes unused (0.21 s) and the 3g comes (0.20 s).
  Script s("1xa100-40gb", {"7g@0"}, {at_second(0, 1), at_second(0.3, 1)}, {}, [](const Cluster& c, Plan& plan) {
    const Event& e = Script::cause(c);
    if (e.kind == EventKind::kSubmitted)
      return plan.reshapes.push_back({GpuId(0), fixture::layout(c.platform(), 0, e.job == JobId(0) ? "4g@0" : "3g@0")});
    for (const JobId job : {JobId(0), JobId(1)})
      if (plan.starts.empty()) start_if_possible(c, plan, job);
  });
  EXPECT_EQ(s.words(),
            (Words{"0 new 0", "0 want 0:4g.20gb@0", "0 destroy 0:7g.40gb@0", "0.3 new 1", "0.3 want 0:3g.20gb@0",
                   "0.43 created 0:4g.20gb@0", "0.43 destroy 0:4g.20gb@0", "0.84 created 0:3g.20gb@0",
                   "0.84 start 0 0:3g.20gb@0", "1.84 end 0", "1.84 start 1 0:3g.20gb@0", "2.84 end 1"}));
}

TEST(SimFleet, ARetargetBackToWhatIsBeingDestroyed) {
  Script s("1xa100-40gb", {"7g@0"}, {at_second(0, 1), at_second(0.1, 1)}, {}, [](const Cluster& c, Plan& plan) {
    const Event& e = Script::cause(c);
    if (e.kind == EventKind::kSubmitted)
      return plan.reshapes.push_back({GpuId(0), fixture::layout(c.platform(), 0, e.job == JobId(0) ? "4g@0" : "7g@0")});
    for (const JobId job : {JobId(0), JobId(1)})
      if (plan.starts.empty()) start_if_possible(c, plan, job);
  });
  EXPECT_EQ(s.words(), (Words{"0 new 0", "0 want 0:4g.20gb@0", "0 destroy 0:7g.40gb@0", "0.1 new 1",
                              "0.1 want 0:7g.40gb@0", "0.46 created 0:7g.40gb@0", "0.46 start 0 0:7g.40gb@0",
                              "1.46 end 0", "1.46 start 1 0:7g.40gb@0", "2.46 end 1"}));
}

TEST(SimFleet, ARetargetThatFreesABusySliceKeepsIt) {
  // The busy 4g was to go; before its job ends the target takes it back, and nothing is ever done.
  Script s("1xa100-40gb", {"4g@0"}, {at_second(0, 5), at_second(1, 1), at_second(2, 1)}, {},
           [](const Cluster& c, Plan& plan) {
             const Event& e = Script::cause(c);
             if (e.job == JobId(1) && e.kind == EventKind::kSubmitted)
               return plan.reshapes.push_back({GpuId(0), fixture::layout(c.platform(), 0, "7g@0")});
             if (e.job == JobId(2) && e.kind == EventKind::kSubmitted)
               return plan.reshapes.push_back({GpuId(0), fixture::layout(c.platform(), 0, "4g@0")});
             for (const JobId job : {JobId(0), JobId(1), JobId(2)})
               if (plan.starts.empty()) start_if_possible(c, plan, job);
           });
  EXPECT_EQ(s.words(),
            (Words{"0 new 0", "0 start 0 0:4g.20gb@0", "1 new 1", "1 want 0:7g.40gb@0", "2 new 2", "2 want 0:4g.20gb@0",
                   "5 end 0", "5 start 1 0:4g.20gb@0", "6 end 1", "6 start 2 0:4g.20gb@0", "7 end 2"}));
}

TEST(SimFleet, ExplicitPreemptionPaysTheRestart) {
  // Job 0 (10 s, restart 3 s) is stopped at 4 s for job 1 and resumes at 6 s: 3 s of hold, 6 s of rest. Job 1 has no
  // restart cost, so the stop asked for at 5 s is refused.
  Script s("1xa100-40gb", {"7g@0"}, {at_second(0, 10, 3), at_second(4, 2), at_second(5, 1)}, {},
           [](const Cluster& c, Plan& plan) {
             const Event& e = Script::cause(c);
             if (e.kind == EventKind::kSubmitted && e.job == JobId(1)) {
               plan.stops.push_back(JobId(0));
               plan.starts.push_back({JobId(1), GpuId(0), fixture::slice(c.platform(), 0, "7g@0")});
               return;
             }
             if (e.kind == EventKind::kSubmitted && e.job == JobId(2)) return plan.stops.push_back(JobId(1));
             for (const JobId job : {JobId(0), JobId(2)})
               if (plan.starts.empty()) start_if_possible(c, plan, job);
           });
  EXPECT_EQ(s.words(),
            (Words{"0 new 0", "0 start 0 0:7g.40gb@0", "4 new 1", "4 stop 0", "4 start 1 0:7g.40gb@0", "5 new 2",
                   "6 end 1", "6 start 0 0:7g.40gb@0", "15 end 0", "15 start 2 0:7g.40gb@0", "16 end 2"}));
  EXPECT_EQ(s.session->refused(), 1u);
  EXPECT_EQ(s.session->last_refusal(), "job 1 cannot be preempted: it is not restartable");
  EXPECT_NEAR(s.session->cluster().total_joules(), 16 * 248.5, 1e-9);
}

TEST(SimFleet, TheRunEndsWithTheLastCompletion) {
  // The reshape asked for at the last completion is never carried out; the idle board is counted from 0 to there.
  Script s("2xa100-40gb", {"7g@0", "7g@0"}, {at_second(2, 3)}, {}, [](const Cluster& c, Plan& plan) {
    if (Script::cause(c).kind == EventKind::kFinished)
      return plan.reshapes.push_back({GpuId(0), fixture::layout(c.platform(), 0, "4g@0")});
    start_if_possible(c, plan, JobId(0));
  });
  EXPECT_EQ(s.words(), (Words{"2 new 0", "2 start 0 0:7g.40gb@0", "5 end 0", "5 want 0:4g.20gb@0"}));
  EXPECT_EQ(s.session->cluster().now(), from_seconds(5));
  EXPECT_NEAR(s.session->cluster().total_joules(), 2 * 40 + 3 * 248.5 + 5 * 40, 1e-9);
}

TEST(SimFleet, BeginsInTheMiddleOfARun) {
  const auto platform = fixture::platform("1xa100-40gb");
  const auto jobs = fixture::bind({at_second(0, 5), at_second(1, 1)}, *platform);
  Cluster cluster(platform, jobs, {}, fixture::layouts(*platform, {"4g@0"}));
  cluster.apply(Event::submitted(Time{0}, JobId(0)));
  cluster.apply(Event::started(Time{0}, JobId(0), GpuId(0), fixture::slice(*platform, 0, "4g@0")));
  SimFleet fleet(cluster);
  Event event;
  ASSERT_TRUE(fleet.next(cluster, event));
  EXPECT_EQ(event.kind, EventKind::kSubmitted);
  EXPECT_EQ(event.job, JobId(1));
  cluster.apply(event);
  ASSERT_TRUE(fleet.next(cluster, event));
  EXPECT_EQ(event.kind, EventKind::kFinished);
  EXPECT_EQ(event.at, from_seconds(5));
}

}  // namespace
}  // namespace smartmig
