#include "sched/session.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>

#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::min;

// A world that says what it was told to say, and reshapes at once.
class ScriptedFleet : public Fleet {
 public:
  std::deque<Event> events;
  std::vector<EventKind> begun;
  bool next(const Cluster&, Event& event) override {
    if (events.empty()) return false;
    event = events.front();
    events.pop_front();
    return true;
  }
  void begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) override {
    begun.push_back(action.kind);
    if (action.kind != EventKind::kReshapeAsked) return;
    EXPECT_EQ(cluster.gpu(action.gpu).target, action.layout);  // the cluster knows of the action already
    at_once.push_back(Event::destroyed(cluster.now(), action.gpu, cluster.gpu(action.gpu).layout - action.layout));
    at_once.push_back(Event::created(cluster.now(), action.gpu, action.layout - cluster.gpu(action.gpu).layout));
  }
};

class ScriptedPolicy : public Policy {
 public:
  std::function<void(const Cluster&, Plan&)> script;
  int decisions = 0;
  void decide(const Cluster& cluster, Plan& plan) override {
    EXPECT_TRUE(plan.empty());
    ++decisions;
    EXPECT_EQ(cluster.decision(), std::uint64_t(decisions));
    script(cluster, plan);
  }
};

struct World {
  std::shared_ptr<const Platform> platform = fixture::platform("1xa100-40gb");
  std::shared_ptr<const JobTable> jobs =
      fixture::bind({fixture::job(0, 9, fixture::linear(5)), fixture::job(1, 9, fixture::linear(5))}, *platform);
  ScriptedFleet fleet;
  MemoryJournal journal;
  Cluster cluster() const { return Cluster(platform, jobs, {}, fixture::layouts(*platform, {"7g@0"})); }
  PlacementId slice(const char* text) const { return fixture::slice(*platform, 0, text); }
  Layout layout(const char* text) const { return fixture::layout(*platform, 0, text); }
  static Event submitted(double at, unsigned job) { return Event::submitted(min(at), JobId(job)); }
};

TEST(Session, StopsThenReshapesThenStartsAndEverythingIsJournalled) {
  World w;
  w.fleet.events = {World::submitted(0, 0), World::submitted(1, 1)};
  ScriptedPolicy policy;
  policy.script = [&](const Cluster& cluster, Plan& plan) {
    if (cluster.decision() == 1) {
      plan.starts.push_back({JobId(0), GpuId(0), w.slice("7g@0")});
    } else {  // in the order opposite to the one it must be done in
      plan.starts.push_back({JobId(0), GpuId(0), w.slice("4g@0")});
      plan.starts.push_back({JobId(1), GpuId(0), w.slice("3g@4")});
      plan.reshapes.push_back({GpuId(0), w.layout("4g@0+3g@4")});
      plan.stops.push_back(JobId(0));
    }
  };
  Session session(w.fleet, w.cluster(), &w.journal);
  run(session, policy);
  EXPECT_EQ(policy.decisions, 2);
  EXPECT_EQ(session.refused(), 0u) << session.last_refusal();
  EXPECT_EQ(session.cluster().gpu(GpuId(0)).layout, w.layout("4g@0+3g@4"));
  EXPECT_EQ(session.cluster().running(), 2u);
  EXPECT_TRUE(session.cluster().news().empty());
  using K = EventKind;
  std::vector<K> kinds;
  for (const Event& e : w.journal.events()) kinds.push_back(e.kind);
  EXPECT_EQ(kinds, (std::vector<K>{K::kSubmitted, K::kStarted, K::kSubmitted, K::kStopped, K::kReshapeAsked,
                                   K::kDestroyed, K::kCreated, K::kStarted, K::kStarted}));
  EXPECT_EQ(w.fleet.begun, (std::vector<K>{K::kStarted, K::kStopped, K::kReshapeAsked, K::kStarted, K::kStarted}));
  // The cluster is the fold of its journal.
  Cluster again = w.cluster();
  for (const Event& e : w.journal.events()) again.apply(e);
  EXPECT_EQ(again.total_joules(), session.cluster().total_joules());
  EXPECT_EQ(again.state(JobId(1)).finish, session.cluster().state(JobId(1)).finish);
}

TEST(Session, IllegalActionsAreRefusedCountedAndExplained) {
  World w;
  w.fleet.events = {World::submitted(0, 0), World::submitted(1, 1)};
  ScriptedPolicy policy;
  policy.script = [&](const Cluster& cluster, Plan& plan) {
    EXPECT_EQ(cluster.last_plan_refused(), cluster.decision() == 2);
    if (cluster.decision() == 2) return;
    plan.stops = {JobId(0), JobId(77)};
    plan.reshapes = {{GpuId(5), w.layout("7g@0")}};
    plan.starts = {{JobId(1), GpuId(0), w.slice("7g@0")},
                   {JobId(0), GpuId(0), w.slice("7g@0")},
                   {JobId(0), GpuId(0), w.slice("7g@0")}};
  };
  Session session(w.fleet, w.cluster(), &w.journal);
  run(session, policy);
  EXPECT_EQ(session.refused(), 5u);
  EXPECT_EQ(session.last_refusal(), "job 0 is not waiting");
  EXPECT_EQ(session.cluster().running(), 1u);  // what was legal was done
  EXPECT_EQ(w.journal.events().size(), 3u);
}

}  // namespace
}  // namespace smartmig
