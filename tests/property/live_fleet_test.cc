// The live fleet does what the simulated one does: the same policy over the same jobs, the device's times played by a
// small event loop, gives the same journal to the byte.
#include "live/live_fleet.h"

#include <gtest/gtest.h>

#include <queue>

#include "model/reconfig.h"
#include "policy/planner/list_planner.h"
#include "policy/registry.h"
#include "random_world.h"
#include "sim/simulate.h"

namespace smartmig {
namespace {

using namespace random_world;

struct Due {
  Time at;
  int order;  // completions, then operations, then arrivals
  std::uint32_t id;
  LiveFleet::Effect operation;
  bool operator>(const Due& other) const { return std::tie(at, order, id) > std::tie(other.at, other.order, other.id); }
};

void play_live(Session& session, LiveFleet& fleet, Policy& policy) {
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due;
  const auto& jobs = session.cluster().jobs().workload().jobs;
  for (std::size_t j = 0; j < jobs.size(); ++j) due.push({jobs[j].submit, 2, std::uint32_t(j), {}});
  Time now{};
  const auto effects = [&] {
    for (const LiveFleet::Effect& effect : fleet.take_effects()) {
      if (effect.what == LiveFleet::Effect::kStart) {
        due.push({session.cluster().state(effect.job).finish, 0, index(effect.job), {}});
        continue;
      }
      ASSERT_NE(effect.what, LiveFleet::Effect::kStop);
      const GpuModel& model = *session.cluster().platform().model(effect.gpu).gpu;
      const auto time = reconfig_time(model, model.placement(effect.where).profile);
      due.push({now + (effect.what == LiveFleet::Effect::kCreate ? time.create : time.destroy), 1, index(effect.gpu),
                effect});
    }
  };
  const auto tell = [&](const Due& what) {
    if (what.order == 0) {
      fleet.tell(Event::finished(now, JobId(what.id)));
    } else if (what.order == 2) {
      fleet.tell(Event::submitted(now, JobId(what.id)));
    } else if (what.operation.what == LiveFleet::Effect::kDestroy) {
      fleet.destroyed(what.operation.gpu);
    } else {
      const GpuModel& model = *session.cluster().platform().model(what.operation.gpu).gpu;
      fleet.created(what.operation.gpu, now, *model.with(Layout{}, what.operation.where));
    }
  };
  for (Plan plan; !due.empty();) {
    now = due.top().at;
    fleet.set_clock(now);
    const auto tell_due = [&] {
      for (; !due.empty() && due.top().at == now; due.pop()) tell(due.top());
    };
    tell_due();
    while (session.advance()) {
      plan.clear();
      policy.decide(session.cluster(), plan);
      session.act(plan);
      effects();
      tell_due();  // jobs of no length
    }
    effects();
  }
}

TEST(LiveFleet, TheJournalIsThatOfTheSimulation) {
  const CostModel cost{CostModel::kHardware, {}};
  for (int i = 0; i < cases(60); ++i) {
    const World world = random_world::make(std::uint64_t(i) + 7000);
    SCOPED_TRACE(world.words());
    for (const char* name : {"cedf", "edf", "planner"}) {
      const auto make_one = [&]() -> std::unique_ptr<Policy> {
        PolicyOptions options;
        options.rule.w = 1e-3;
        if (name == std::string("planner"))  // without stops: ends of one instant are told of together here
          return std::make_unique<ListPlanner>(ListPlannerOptions{1e-3, {}, false, false, nullptr});
        return std::make_unique<PairPolicy>(std::make_unique<RandomShapes>(world, 3),
                                            std::move(make_placer(name, options, cost).value()));
      };
      const auto first = make_one(), second = make_one();
      MemoryJournal simulated, lived;
      Cluster start(world.platform, world.jobs, cost, world.initial);
      SimFleet sim(start);
      Session a(sim, start, &simulated);
      run(a, *first);
      LiveFleet live(start);
      Session b(live, start, &lived);
      play_live(b, live, *second);
      // The simulation ends with the last completion; operations may go on in the live one.
      ASSERT_GE(lived.events().size(), simulated.events().size()) << name;
      for (std::size_t e = 0; e < simulated.events().size(); ++e) {
        const Event &x = simulated.events()[e], &y = lived.events()[e];
        ASSERT_TRUE(x.at == y.at && x.kind == y.kind && x.job == y.job && x.gpu == y.gpu && x.where == y.where &&
                    x.layout == y.layout)
            << name << ", event " << e << ": kind " << int(x.kind) << " job " << index(x.job) << " gpu " << index(x.gpu)
            << " at " << seconds(x.at) << " s, live kind " << int(y.kind) << " job " << index(y.job) << " gpu "
            << index(y.gpu) << " at " << seconds(y.at) << " s";
      }
    }
  }
}

}  // namespace
}  // namespace smartmig
