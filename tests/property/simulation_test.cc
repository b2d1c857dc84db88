// Every policy in random worlds: nothing it asks is refused, the invariants of random_world.h hold at every event, what
// is left at the end could not run, and a run continues from a copy as if nothing had happened.
#include <gtest/gtest.h>

#include "policy/registry.h"
#include "random_world.h"

namespace smartmig {
namespace {

using namespace random_world;

std::unique_ptr<Policy> policy_of(const World& world, const std::string& placer, const CostModel& cost,
                                  std::uint64_t reshape_one_in) {
  PolicyOptions options;
  options.rule.a = 1e-4;
  options.rule.w = 1e-3;
  std::unique_ptr<Repartitioner> shapes;
  if (reshape_one_in > 0)
    shapes = std::make_unique<RandomShapes>(world, reshape_one_in);
  else
    shapes = std::make_unique<FixedShapes>(world.shapes);
  return std::make_unique<PairPolicy>(std::move(shapes), std::move(make_placer(placer, options, cost).value()));
}

CostModel cost_of(std::uint64_t seed) {
  switch (seed % 4) {
    case 0:
      return {CostModel::kPaper, {}};
    case 1:
      return {CostModel::kHardware, {}};
    case 2:
      return {CostModel::kHardware, from_seconds(30)};
    default:
      return {CostModel::kHardware, Time{0}};
  }
}

// Jobs that are left wait, and no slice that exists and is to stay could take them.
void expect_only_hopeless_jobs_left(const Cluster& cluster) {
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
    ASSERT_EQ(cluster.state(job).phase, JobPhase::kQueued) << "job " << index(job);
    for (std::size_t g = 0; g < cluster.gpus().size(); ++g)
      for (PlacementId p : cluster.gpus()[g].usable())
        ASSERT_LT(cluster.jobs().work(job, cluster.platform().type_of(GpuId(g), p)), Time{0})
            << "job " << index(job) << " waits beside GPU " << g;
  }
}

void expect_same_end(const Cluster& a, const Cluster& b) {
  ASSERT_EQ(a.now(), b.now());
  ASSERT_EQ(a.total_joules(), b.total_joules());
  for (std::size_t j = 0; j < a.states().size(); ++j) {
    ASSERT_EQ(a.states()[j].phase, b.states()[j].phase) << "job " << j;
    ASSERT_EQ(a.states()[j].finish, b.states()[j].finish) << "job " << j;
    ASSERT_EQ(a.states()[j].gpu, b.states()[j].gpu) << "job " << j;
    ASSERT_EQ(a.attributed_joules(JobId(j)), b.attributed_joules(JobId(j))) << "job " << j;
  }
  ASSERT_EQ(a.counters().preemptions, b.counters().preemptions);
  ASSERT_EQ(a.counters().moves, b.counters().moves);
  ASSERT_EQ(a.counters().repartitions, b.counters().repartitions);
}

TEST(SimulationProperty, EveryPolicyKeepsTheRules) {
  const auto placers = placer_names();
  for (int i = 0; i < cases(330); ++i) {
    const World world = make(20000 + std::uint64_t(i), i % 4 == 3);
    const std::string& placer = placers[std::size_t(i) % placers.size()];
    const CostModel cost = cost_of(std::uint64_t(i) / placers.size());
    const std::uint64_t reshape_one_in = world.seed % 3 == 0 ? 0 : 1 + world.seed % 7;
    SCOPED_TRACE(fmt::format("{}, {}, {} costs, a reshape in {}", world.words(), placer, cost.name(), reshape_one_in));
    const auto policy = policy_of(world, placer, cost, reshape_one_in);
    Cluster cluster(world.platform, world.jobs, cost, world.initial);
    CheckedFleet fleet(cluster);
    Session session(fleet, std::move(cluster));
    Checked checked(*policy);
    run(session, checked);
    if (HasFatalFailure()) return;
    Invariants().check(session.cluster());
    ASSERT_EQ(session.refused(), 0u) << session.last_refusal();
    if (!cost.free()) {
      ASSERT_EQ(fleet.stops(), 0);
    }
    if (placer != "dedicated") expect_only_hopeless_jobs_left(session.cluster());
    for (std::size_t j = 0; j < world.jobs->size(); ++j)
      ASSERT_EQ(fleet.finished(j), session.cluster().states()[j].phase == JobPhase::kDone);
    if (HasFatalFailure()) return;
  }
}

TEST(SimulationProperty, ARunContinuesFromACopy) {
  const auto placers = placer_names();
  for (int i = 0; i < cases(110); ++i) {
    const World world = make(30000 + std::uint64_t(i));
    const std::string& placer = placers[std::size_t(i) % placers.size()];
    const CostModel cost = cost_of(std::uint64_t(i) / placers.size());
    SCOPED_TRACE(fmt::format("{}, {}, {} costs", world.words(), placer, cost.name()));
    const auto policy = policy_of(world, placer, cost, 1 + world.seed % 4);
    Cluster cluster(world.platform, world.jobs, cost, world.initial);
    SimFleet fleet(cluster);
    Session session(fleet, std::move(cluster));
    const std::uint64_t cut = Rng(world.seed, 5).below(2 * world.jobs->size() + 1);
    Plan plan;
    for (std::uint64_t step = 0; step < cut && session.advance(); ++step, plan.clear()) {
      policy->decide(session.cluster(), plan);
      session.act(plan);
    }
    SimFleet fleet_copy = fleet, fleet_anew(session.cluster());
    Session copy(fleet_copy, session.cluster()), anew(fleet_anew, session.cluster());
    run(session, *policy);
    const auto fresh = policy_of(world, placer, cost, 1 + world.seed % 4);
    run(copy, *fresh);
    expect_same_end(session.cluster(), copy.cluster());
    if (cost.free()) {  // a world made of the cluster alone; and the policy object that ended the other run
      run(anew, *policy);
      expect_same_end(session.cluster(), anew.cluster());
    }
    if (HasFatalFailure()) return;
  }
}

// Leaves every GPU as it is: serves any platform.
class LayoutsAsFound : public Repartitioner {
 public:
  std::vector<Shape> initial() const override { return {}; }
  void retarget(const Cluster&, std::vector<std::pair<GpuId, Shape>>&) override {}
};

TEST(SimulationProperty, OnePolicyObjectServesTwoRunsInTurns) {
  for (int i = 0; i < cases(60); ++i) {
    const World world = make(40000 + std::uint64_t(i)), other = make(50000 + std::uint64_t(i));
    SCOPED_TRACE(world.words());
    const CostModel cost;
    const auto alone = [&](const World& w) {
      PolicyOptions options;
      PairPolicy policy(std::make_unique<FixedShapes>(w.shapes), std::move(make_placer("cedf", options, cost).value()));
      Cluster cluster(w.platform, w.jobs, cost, w.initial);
      SimFleet fleet(cluster);
      Session session(fleet, std::move(cluster));
      run(session, policy);
      return session.cluster();
    };
    PairPolicy shared(std::make_unique<LayoutsAsFound>(), std::move(make_placer("cedf", {}, cost).value()));
    Cluster first(world.platform, world.jobs, cost, world.initial),
        second(other.platform, other.jobs, cost, other.initial);
    SimFleet first_fleet(first), second_fleet(second);
    Session a(first_fleet, std::move(first)), b(second_fleet, std::move(second));
    bool more = true;
    for (Plan plan; more;) {
      more = false;
      for (Session* session : {&a, &b})
        if (session->advance()) {
          more = true;
          plan.clear();
          shared.decide(session->cluster(), plan);
          session->act(plan);
        }
    }
    expect_same_end(a.cluster(), alone(world));
    expect_same_end(b.cluster(), alone(other));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace smartmig
