// Worlds whose run times are told apart from the truth: told exactly they are the worlds in which the truth is known, and
// whatever is told, every job ends when its true time is over and nothing illegal is asked for.
#include <gtest/gtest.h>

#include "policy/registry.h"
#include "random_world.h"
#include "sim/simulate.h"

namespace smartmig {
namespace {

using namespace random_world;
constexpr CostModel kHardwareCosts{CostModel::kHardware, {}};

struct ToldRun {
  Result<SimResult> result;
  MemoryJournal journal;
};

// An error where a policy's layouts take some job never.
ToldRun told_run(const World& world, const char* policy, CostModel cost, const char* estimates) {
  PolicyOptions options;
  options.rule.w = 1e-4;
  const auto named = make_policy(policy, options, cost, *world.platform);
  EXPECT_TRUE(named) << policy;
  ToldRun out{invalid("not run"), {}};
  const SimSetup setup{world.platform, world.jobs, cost, world.initial, 2e-7, parse_estimates(estimates).value()};
  out.result = simulate(setup, *named->policy, &out.journal);
  return out;
}

TEST(EstimatesProperty, ToldExactlyIsTheWorldThatIsKnown) {
  for (int seed = 1; seed <= cases(30); ++seed) {
    const World world = random_world::make(50000 + std::uint64_t(seed), seed % 4 == 3);
    SCOPED_TRACE(world.words());
    for (const auto& [policy, cost] :
         {std::pair{"best", kHardwareCosts}, {"none+edf", kHardwareCosts}, {"static+cedf", CostModel{}}}) {
      if (std::string(policy) == "static+cedf" && world.platform->models().size() > 1) continue;
      const auto known = told_run(world, policy, cost, "exact");
      const auto told = told_run(world, policy, cost, "lognormal:0,told");
      ASSERT_EQ(bool(known.result), bool(told.result)) << policy;
      const auto &a = known.journal.events(), &b = told.journal.events();
      ASSERT_EQ(a.size(), b.size()) << policy;
      for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_TRUE(a[i].at == b[i].at && a[i].kind == b[i].kind && a[i].job == b[i].job && a[i].gpu == b[i].gpu &&
                    a[i].where == b[i].where && a[i].layout == b[i].layout)
            << policy << ", event " << i << ": job " << index(a[i].job) << " of kind " << int(a[i].kind) << " at "
            << a[i].at.count() << ", told: job " << index(b[i].job) << " of kind " << int(b[i].kind) << " at "
            << b[i].at.count();
      if (known.result) EXPECT_EQ(known.result->summary.et, told.result->summary.et);
    }
  }
}

TEST(EstimatesProperty, EveryJobEndsWhateverIsTold) {
  for (int seed = 1; seed <= cases(40); ++seed) {
    const World world = random_world::make(60000 + std::uint64_t(seed), seed % 4 == 3);
    const char* rules[] = {"lognormal:0.69", "lognormal:1.1:3", "over:1.1", "flat", "none", "lognormal:1.1,told"};
    const char* rule = rules[seed % 6];
    SCOPED_TRACE(world.words() + ", " + rule);
    const auto run = told_run(world, "best", kHardwareCosts, rule);
    ASSERT_TRUE(run.result) << run.result.error().what;
    EXPECT_EQ(run.result->refused, 0u) << run.result->last_refusal;
    EXPECT_EQ(run.result->summary.unfinished_jobs, 0u);
    // The journal folds to the same world by the true times: every end is where the truth has it.
    Cluster again(world.platform, world.jobs, kHardwareCosts, world.initial);
    for (const Event& event : run.journal.events()) {
      if (event.kind == EventKind::kFinished) EXPECT_EQ(again.state(event.job).finish, event.at);
      again.apply(event);
    }
    EXPECT_EQ(again.total_joules(), run.result->final.total_joules());
  }
}

}  // namespace
}  // namespace smartmig
