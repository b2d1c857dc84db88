// Bounded overtaking in simulated worlds under hardware costs: a job that the planner would let wait for ever starts,
// the bound holds whatever the fleet, the policy and the jobs, and without a bound the plans are the inner policy's.
#include <gtest/gtest.h>

#include <map>

#include "policy/layers/bounded_overtaking.h"
#include "policy/registry.h"
#include "random_world.h"
#include "sim/simulate.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

using namespace fixture;
using random_world::World;

constexpr CostModel kHardware{CostModel::kHardware, {}};

std::unique_ptr<Policy> make_named(const char* name, const Platform& platform) {
  return std::move(make_policy(name, {}, kHardware, platform).value().policy);
}

// One job that needs the whole GPU among small ones that come faster than they end.
std::shared_ptr<const JobTable> crowd(const Platform& platform, int small) {
  std::vector<Job> list;
  for (int i = 0; i < small; ++i) {
    list.push_back(job(0.5 * i, 0.5 * i + 6, {5, 4, 4, 4, 4}));
    if (i == 20) list.push_back(job(0.5 * i, 0.5 * i + 600, {-1, -1, -1, -1, 10}));
  }
  return bind(std::move(list), platform);
}
constexpr JobId kWhole{21};

Time start_of_whole(Policy& policy, const std::shared_ptr<const Platform>& fleet, int small) {
  const SimSetup setup{fleet, crowd(*fleet, small), kHardware, layouts(*fleet, {"3g@0+3g@4"})};
  const auto result = simulate(setup, policy);
  EXPECT_TRUE(bool(result)) << result.error().what;
  return result->final.state(kWhole).first_start;
}

TEST(BoundedOvertaking, AJobThatThePlannerLetsWaitForEverStarts) {
  const auto fleet = platform("1xa100-40gb");
  auto plain = make_named("planner", *fleet);
  const Time starved = start_of_whole(*plain, fleet, 400);
  ASSERT_GT(starved, min(180)) << "the planner no longer starves it: find another crowd";
  BoundedOvertaking bounded(make_named("planner", *fleet), {16, kNever});
  const Time served = start_of_whole(bounded, fleet, 400);
  // 16 of them go first, two or three at a time and five minutes each; then what runs ends.
  EXPECT_LT(served, min(10 + 16 * 5 + 10));
  EXPECT_EQ(bounded.drains(), 1u);
  EXPECT_LE(bounded.most_overtaken(), 16u + 7u);
  BoundedOvertaking patient(make_named("planner", *fleet), {kNoBound, min(60)});
  EXPECT_LT(start_of_whole(patient, fleet, 400), min(10 + 60 + 10));
}

// A fixed partition has no slice for the job: it gets one, and the partition is put back.
TEST(BoundedOvertaking, PutsBackWhatTheInnerPolicyWants) {
  const auto fleet = platform("2xa100-40gb");
  PolicyOptions options;
  options.layouts = "3g+3g";
  auto named = make_policy("static+cedf", options, kHardware, *fleet);
  BoundedOvertaking bounded(std::move(named->policy), {kNoBound, min(30)});
  const SimSetup setup{fleet, crowd(*fleet, 200), kHardware, layouts(*fleet, {"3g@0+3g@4", "3g@0+3g@4"})};
  const auto result = simulate(setup, bounded);
  ASSERT_TRUE(bool(result)) << result.error().what;
  EXPECT_LT(result->final.state(kWhole).first_start, min(10 + 30 + 10));
  for (const GpuState& gpu : result->final.gpus()) {
    EXPECT_EQ(gpu.target, setup.initial[0]);
    EXPECT_EQ(gpu.layout, setup.initial[0]);
  }
  EXPECT_EQ(bounded.drains(), 1u);
}

TEST(BoundedOvertaking, SkipsABlockedGpu) {
  const auto fleet = platform("2xa100-40gb");
  const auto two = bind({job(0, 100, {-1, -1, -1, -1, 10}), job(0, 100, {10, 5, 4, 3, 2})}, *fleet);
  Cluster cluster(fleet, two, kHardware, layouts(*fleet, {"3g@0+3g@4", "7g@0"}));
  cluster.begin_decision();
  for (int i = 0; i < 2; ++i) cluster.apply(Event::submitted(Time{0}, JobId(i)));
  cluster.apply(Event::blocked(min(2), GpuId(1)));
  BoundedOvertaking bounded(make_named("static+cedf", *fleet), {64, min(1)});
  Plan plan;
  bounded.decide(cluster, plan);
  ASSERT_EQ(bounded.reservations().size(), 1u);
  EXPECT_EQ(bounded.reservations()[0].gpu, GpuId(0));
  ASSERT_EQ(plan.reshapes.size(), 1u);
  EXPECT_EQ(to_string(*fleet->model(GpuId(0)).gpu, plan.reshapes[0].to), "7g.40gb@0");
  EXPECT_TRUE(plan.starts.empty()) << "everything overlaps what is reserved";
  cluster.end_decision(false);
  cluster.begin_decision();
  cluster.apply(Event::blocked(min(3), GpuId(0)));
  plan.clear();
  bounded.decide(cluster, plan);
  EXPECT_TRUE(bounded.reservations().empty());
  EXPECT_EQ(bounded.due(), std::vector<JobId>{JobId(0)});
  EXPECT_TRUE(plan.empty());
}

TEST(BoundedOvertaking, CountsFollowARenumberedTable) {
  const auto fleet = platform("1xa100-40gb");
  auto table = JobTable::growing(*fleet, "a100-40gb", 8).value();
  const Job whole = job(0, 100, {-1, -1, -1, -1, 10}), small = job(0, 100, {10, 5, 4, 3, 2});
  table.put(JobId(0), small, "gone", "", *fleet).value();
  table.put(JobId(1), whole, "waits", "", *fleet).value();
  for (int i = 2; i < 6; ++i) {
    Job later = small;
    later.submit = min(1);
    table.put(JobId(i), later, fmt::format("small{}", i), "", *fleet).value();
  }
  auto shared = std::make_shared<const JobTable>(table);
  Cluster cluster(fleet, shared, kHardware, layouts(*fleet, {"1g@0+1g@1+1g@2+1g@3+1g@4+1g@5+1g@6"}));
  BoundedOvertaking bounded(make_named("static[1g+1g+1g+1g+1g+1g+1g]+cedf", *fleet), {3, kNever});
  const auto decide_and_act = [&](Cluster& world) {
    Plan plan;
    bounded.decide(world, plan);
    for (const Reshape& r : plan.reshapes) world.apply(Event::reshape_asked(world.now(), r.gpu, r.to));
    for (const Start& s : plan.starts) world.apply(Event::started(world.now(), s.job, s.gpu, s.where));
    world.end_decision(false);
    world.begin_decision();
    return plan;
  };
  for (int i = 0; i < 4; ++i) cluster.apply(Event::submitted(min(i > 1), JobId(i)));
  EXPECT_EQ(decide_and_act(cluster).starts.size(), 3u);
  cluster.apply(Event::withdrawn(min(2), JobId(0)));
  decide_and_act(cluster);
  EXPECT_EQ(bounded.overtaken(JobId(1)), 2u) << "a withdrawal renews the identity, not the counts";

  const std::vector<JobId> keep{JobId(1), JobId(2), JobId(3)};
  auto next = JobTable::growing(*fleet, "a100-40gb", 8).value();
  for (std::size_t i = 0; i < keep.size(); ++i)
    next.put(JobId(i), table.job(keep[i]), table.workload().names[index(keep[i])], "", *fleet).value();
  Job later = small;
  later.submit = min(3);
  for (int i = 3; i < 5; ++i) next.put(JobId(i), later, fmt::format("new{}", i), "", *fleet).value();
  Cluster renumbered = cluster.renumbered(std::make_shared<const JobTable>(next), keep);
  renumbered.begin_decision();
  renumbered.apply(Event::submitted(min(3), JobId(3)));
  EXPECT_EQ(decide_and_act(renumbered).starts.size(), 1u);
  EXPECT_EQ(bounded.overtaken(JobId(0)), 2u);
  renumbered.apply(Event::submitted(min(4), JobId(4)));
  EXPECT_TRUE(decide_and_act(renumbered).starts.empty()) << "three have passed: the GPU drains";
  EXPECT_EQ(bounded.overtaken(JobId(0)), 3u);
  ASSERT_NE(bounded.reservation_of(JobId(0)), nullptr);
  EXPECT_EQ(bounded.reservation_of(JobId(0))->start.count() / 60'000'000, 13) << "the last small one started at 3 min";
}

// Counts overtaking anew, from the plans alone, and looks at every start while a job is due.
class Watch : public Policy {
 public:
  Watch(BoundedOvertaking& inner, std::uint32_t bound) : inner_(inner), bound_(bound) {}
  void decide(const Cluster& cluster, Plan& plan) override {
    inner_.decide(cluster, plan);
    if (::testing::Test::HasFatalFailure()) return;
    const std::uint32_t most = bound_ + std::uint32_t(cluster.platform().total_compute_slices());
    std::vector<bool> due(cluster.jobs().size()), starts(cluster.jobs().size());
    for (const JobId job : inner_.due()) due[index(job)] = true;
    for (const Start& start : plan.starts) {
      const bool moves = std::count(plan.stops.begin(), plan.stops.end(), start.job) > 0;
      ASSERT_EQ(cluster.state(start.job).phase, moves ? JobPhase::kRunning : JobPhase::kQueued);
      starts[index(start.job)] = true;
    }
    for (JobId q = cluster.first_unfinished(); q != kNoJob; q = cluster.next_unfinished(q)) {
      if (cluster.state(q).phase != JobPhase::kQueued || starts[index(q)]) continue;
      ASSERT_LE(inner_.overtaken(q), most);
      for (const Start& s : plan.starts) {
        if (index(s.job) < index(q)) continue;  // ids are in order of arrival here
        if (!due[index(q)]) {
          ++passed_[q];
          continue;
        }
        if (const auto* r = inner_.reservation_of(q)) {
          const GpuModel& model = *cluster.platform().model(r->gpu).gpu;
          ASSERT_FALSE(s.gpu == r->gpu && (model.placement(s.where).mask & model.placement(r->where).mask) != 0)
              << "job " << index(s.job) << " took what is reserved for " << index(q);
        } else {
          ASSERT_LT(cluster.jobs().work(q, cluster.platform().type_of(s.gpu, s.where)), Time{0})
              << "job " << index(s.job) << " took a slice that due job " << index(q) << " could use";
        }
      }
      ASSERT_LE(passed_[q], most);
    }
    for (const auto& r : inner_.reservations()) promised_.try_emplace(r.job, r.start);
  }
  std::map<JobId, std::uint32_t> passed_;
  std::map<JobId, Time> promised_;

 private:
  BoundedOvertaking& inner_;
  std::uint32_t bound_;
};

TEST(BoundedOvertakingProperty, TheBoundHoldsInRandomWorlds) {
  std::uint64_t drains = 0;
  int kept = 0, promises = 0;
  for (int c = 0; c < cases(150); ++c) {
    const World world = random_world::make(std::uint64_t(c) + 4000);
    SCOPED_TRACE(world.words());
    Rng rng(std::uint64_t(c), 5);
    const std::uint32_t bound = std::uint32_t(rng.below(6));
    const Time patience = rng.below(2) ? kNever : Time(std::int64_t(rng.below(600'000'000)));
    CostModel cost = kHardware;
    if (rng.below(2)) cost.reshape = Time(std::int64_t(rng.below(5'000'000)));
    std::unique_ptr<Policy> inner;
    if (c % 2 == 0)
      inner = std::move(make_policy("planner", {}, cost, *world.platform).value().policy);
    else
      inner = std::make_unique<PairPolicy>(std::make_unique<FixedShapes>(world.shapes),
                                           std::move(make_placer("cedf", {}, cost).value()));
    BoundedOvertaking bounded(std::move(inner), {bound, patience});
    Watch watch(bounded, bound);
    random_world::Checked checked(watch);
    Cluster cluster(world.platform, world.jobs, cost, world.initial);
    random_world::CheckedFleet fleet(cluster);
    Session session(fleet, std::move(cluster));
    run(session, checked);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
    EXPECT_EQ(session.refused(), 0u) << session.last_refusal();
    if (c % 2 == 0) {
      EXPECT_EQ(session.cluster().unfinished(), 0u);
    }
    drains += bounded.drains();
    for (const auto& [job, start] : watch.promised_) {
      ++promises;
      kept += session.cluster().state(job).first_start <= start + Time(60'000'000);
    }
  }
  EXPECT_GT(drains, 50u);
  std::printf("[ reservations ] %d, %d of them kept within a minute of the promise\n", promises, kept);
  EXPECT_EQ(kept, promises);
}

bool same(const Plan& a, const Plan& b) {
  const auto equal = [](const auto& x, const auto& y, auto same_item) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_item);
  };
  return a.stops == b.stops &&
         equal(a.reshapes, b.reshapes,
               [](const Reshape& x, const Reshape& y) { return x.gpu == y.gpu && x.to == y.to; }) &&
         equal(a.starts, b.starts,
               [](const Start& x, const Start& y) { return x.job == y.job && x.gpu == y.gpu && x.where == y.where; });
}

class Twins : public Policy {
 public:
  Twins(std::unique_ptr<Policy> plain, std::unique_ptr<Policy> wrapped)
      : plain_(std::move(plain)), wrapped_(std::move(wrapped)) {}
  void decide(const Cluster& cluster, Plan& plan) override {
    Plan other;
    plain_->decide(cluster, plan);
    wrapped_->decide(cluster, other);
    EXPECT_TRUE(same(plan, other)) << "decision " << cluster.decision();
  }

 private:
  std::unique_ptr<Policy> plain_, wrapped_;
};

TEST(BoundedOvertakingProperty, WithoutABoundPlansAreTheInnerPolicys) {
  for (int c = 0; c < cases(40); ++c) {
    const World world = random_world::make(std::uint64_t(c) + 5000);
    SCOPED_TRACE(world.words());
    for (const CostModel& cost : {kHardware, CostModel{}}) {
      const char* name = c % 2 ? "none+cedf" : cost.free() ? "market" : "planner";
      const auto one = [&] { return std::move(make_policy(name, {}, cost, *world.platform).value().policy); };
      Twins twins(one(), std::make_unique<BoundedOvertaking>(one(), OvertakingOptions{kNoBound, kNever}));
      Cluster cluster(world.platform, world.jobs, cost, world.initial);
      SimFleet fleet(cluster);
      Session session(fleet, std::move(cluster));
      run(session, twins);
    }
  }
}

}  // namespace
}  // namespace smartmig
