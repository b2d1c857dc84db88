// Power caps in simulated worlds: modelled watts stay below both caps at every event, every job that can run under them
// does, also when small jobs keep the fleet near its cap, and a job that never can is named.
#include "policy/layers/power_cap.h"

#include <gtest/gtest.h>

#include "policy/layers/bounded_overtaking.h"
#include "policy/registry.h"
#include "random_world.h"
#include "sim/simulate.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

using namespace fixture;
using random_world::World;

class Meter : public Policy {
 public:
  Meter(PowerCap& inner) : inner_(inner) {}
  void decide(const Cluster& cluster, Plan& plan) override {
    double fleet = 0;
    for (const GpuState& gpu : cluster.gpus()) {
      fleet += gpu.watts;
      highest_board = std::max(highest_board, gpu.watts);
    }
    highest_fleet = std::max(highest_fleet, fleet);
    inner_.decide(cluster, plan);
    for (const Start& start : plan.starts) EXPECT_FALSE(inner_.held_back(start.job));
  }
  double highest_board = 0, highest_fleet = 0;

 private:
  PowerCap& inner_;
};

TEST(PowerCapProperty, WattsNeverExceedTheCaps) {
  std::uint64_t held = 0;
  int runs = 0;
  for (int c = 0; c < cases(120); ++c) {
    const World world = random_world::make(std::uint64_t(c) + 7000);
    SCOPED_TRACE(world.words());
    Rng rng(std::uint64_t(c), 6);
    double idle = 0, most = 0, board_idle = 0, board_most = 0;
    for (std::size_t g = 0; g < world.platform->gpus(); ++g) {
      const Platform::Model& model = world.platform->model(GpuId(g));
      idle += model.power.idle();
      const double full = model.power.is_table() ? model.power.table().back() : model.power.cap();
      most += full;
      board_idle = std::max(board_idle, model.power.idle());
      board_most = std::max(board_most, full);
    }
    PowerCaps caps;
    if (c % 3 != 0) caps.board_w = rng.uniform(board_idle, board_most);
    if (c % 3 != 1) caps.fleet_w = rng.uniform(idle, most);
    caps.bound = std::uint32_t(rng.below(20));
    const CostModel cost{c % 4 ? CostModel::kHardware : CostModel::kPaper, {}};
    auto inner = std::move(make_policy(c % 2 ? "best" : "none+cedf", {}, cost, *world.platform).value().policy);
    auto workload = std::make_shared<Workload>(world.jobs->workload());
    std::erase_if(workload->jobs,
                  [&](Job& job) { return !limit_sizes(job, workload->kind_of(job), *world.platform, caps); });
    const auto bound_jobs = JobTable::bind(workload, *world.platform);
    if (!bound_jobs || bound_jobs->size() == 0) continue;  // memory asks for more than the watts allow
    const auto table = std::make_shared<const JobTable>(*bound_jobs);
    PowerCap cap(std::make_unique<BoundedOvertaking>(std::move(inner), OvertakingOptions{5, kNever}), caps);
    Meter meter(cap);
    random_world::Checked checked(meter);
    Cluster cluster(world.platform, table, cost, world.initial);
    random_world::CheckedFleet fleet(cluster);
    Session session(fleet, std::move(cluster));
    run(session, checked);
    EXPECT_LE(meter.highest_board, caps.board_w * (1 + 1e-9));
    EXPECT_LE(meter.highest_fleet, caps.fleet_w * (1 + 1e-9));
    held += cap.held_back_starts();
    ++runs;
    // A homogeneous fleet under a planner, which makes the slices that are needed, gets everything done.
    if (world.platform->models().size() == 1 && c % 2 == 1) {
      EXPECT_EQ(session.cluster().unfinished(), 0u);
    }
  }
  EXPECT_GT(runs, cases(120) / 2);
  EXPECT_GT(held, 1000u);
}

// linear:50:60:1000 is 50 W idle and 60 W for each busy slice.
TEST(PowerCap, HoldsBackInPlanOrderAndCounts) {
  const auto fleet = platform("1xa100-40gb", "linear:50:60:1000");
  const auto table =
      bind({job(0, 10, {5, 5, 5, 5, 5}), job(0, 20, {5, 5, 5, 5, 5}), job(0, 30, {-1, -1, 5, 5, 5})}, *fleet);
  const CostModel cost{CostModel::kHardware, {}};
  Cluster cluster(fleet, table, cost, layouts(*fleet, {"4g@0+2g@4+1g@6"}));
  cluster.begin_decision();
  for (int i = 0; i < 3; ++i) cluster.apply(Event::submitted(Time{0}, JobId(i)));
  PolicyOptions options;
  options.layouts = "4g+2g+1g";
  PowerCap cap(std::move(make_policy("static+cedf", options, cost, *fleet).value().policy), {50 + 60 * 5, kNoCap});
  Plan plan;
  cap.decide(cluster, plan);
  ASSERT_EQ(plan.starts.size(), 2u) << "4g and 1g, or 2g and 1g; never 4g and 2g";
  EXPECT_EQ(cap.held_back_starts(), 1u);
  int held = 0;
  for (int i = 0; i < 3; ++i) held += cap.held_back(JobId(i));
  EXPECT_EQ(held, 1);
  EXPECT_FALSE(cap.never_fits(cluster, JobId(2)));
  cap.set_caps({50 + 60 * 2, kNoCap});
  EXPECT_TRUE(cap.never_fits(cluster, JobId(2)));
  EXPECT_FALSE(cap.never_fits(cluster, JobId(0)));
  cap.set_caps({kNoCap, 40});
  EXPECT_TRUE(cap.never_fits(cluster, JobId(0))) << "the idle board alone is above that";
}

// Small jobs keep the fleet just below its cap: the whole-GPU job waits for watts, not for slices.
TEST(PowerCap, AJobThatWaitsForWattsIsNotStarved) {
  const auto fleet = platform("2xa100-40gb", "linear:50:60:1000");
  std::vector<Job> list{job(0, 1000, {30, 30, 30, 30, 30})};
  for (int i = 0; i < 600; ++i) list.push_back(job(1 + i, 1 + i + 30, {20, 20, 20, 20, 20}));
  list.insert(list.begin() + 11, job(10, 11, {-1, -1, -1, -1, 10}));
  const auto table = bind(std::move(list), *fleet);
  const CostModel cost{CostModel::kHardware, {}};
  const auto start_with = [&](std::uint32_t bound) {
    PolicyOptions options;
    options.layouts = "1g*7,7g";
    auto inner = std::move(make_policy("static+edf-slow", options, cost, *fleet).value().policy);
    PowerCap cap(std::move(inner), {kNoCap, 100 + 60 * 8, bound});
    const SimSetup setup{fleet, table, cost, layouts(*fleet, {"1g@0+1g@1+1g@2+1g@3+1g@4+1g@5+1g@6", "7g@0"})};
    const auto result = simulate(setup, cap);
    EXPECT_TRUE(bool(result)) << result.error().what;
    return result->final.state(JobId(11)).first_start;
  };
  EXPECT_GT(start_with(1'000'000), min(300)) << "without the bound it starves";
  EXPECT_LT(start_with(20), min(100));
}

}  // namespace
}  // namespace smartmig
