#include "policy/placing/value_placer.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "policy/policy_makers.h"
#include "support/placing_scene.h"

namespace smartmig {
namespace {

using fixture::job;
using fixture::linear;
using fixture::PlacingScene;
using Plans = std::vector<std::string>;

TEST(ValuePlacer, TheUrgentJobGetsTheLargeSliceWhoeverCameFirst) {
  // Both gain alike from size; job 0 has hours, job 1 is about to be late.
  PlacingScene d("1xa100-40gb", {"4g@0+3g@4"}, {job(0, 600, linear(10)), job(0, 11, linear(10))});
  ValuePlacer placer(shipped_job_weights(), 0);
  EXPECT_EQ(d.plan_of(placer), (Plans{"0>0:3g.20gb@4", "1>0:4g.20gb@0"}));
}

TEST(ValuePlacer, AJobThatIsWorthLessMakesRoom) {
  PlacingScene d("1xa100-40gb", {"7g@0"}, {job(0, 600, linear(10)), job(0, 11, linear(10))});
  d.start(0, 0, "7g@0");
  ValuePlacer placer(shipped_job_weights(), 0);
  EXPECT_EQ(d.plan_of(placer), (Plans{"stop 0", "1>0:7g.40gb@0"}));
}

TEST(ValuePlacer, UnderHardwareCostsNobodyMoves) {
  PlacingScene d("1xa100-40gb", {"4g@0+3g@4"}, {job(0, 600, linear(10)), job(0, 11, linear(10))},
                 {CostModel::kHardware, {}});
  d.start(0, 0, "4g@0");
  ValuePlacer placer(shipped_job_weights(), 0);
  EXPECT_EQ(d.plan_of(placer), (Plans{"1>0:3g.20gb@4"}));
}

TEST(ValuePlacer, SomethingRunsHoweverDearEnergyIs) {
  PlacingScene d("1xa100-40gb", {"4g@0+3g@4"}, {job(0, 600, linear(10))});
  JobWeights weights = shipped_job_weights();
  weights.saving = 0;  // so that no job is worth its watts
  ValuePlacer placer(weights, 1e6);
  EXPECT_EQ(d.plan_of(placer), (Plans{"0>0:4g.20gb@0"}));
}

TEST(ValuePlacer, WithoutAFreeSliceNobodyStarts) {
  PlacingScene d("1xa100-40gb", {"7g@0"}, {job(0, 600, linear(10)), job(0, 11, linear(10))},
                 {CostModel::kHardware, {}});
  d.start(0, 0, "7g@0");
  ValuePlacer placer(shipped_job_weights(), 0);
  EXPECT_EQ(d.plan_of(placer), Plans{});
}

// With free energy every slice is used as long as jobs wait, each by one job, and no job twice.
TEST(ValuePlacer, FillsAllSlicesOnce) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed, 1);
    std::vector<Job> jobs;
    const std::size_t n = 1 + rng.below(12);
    for (std::size_t i = 0; i < n; ++i) jobs.push_back(job(0, 1 + int(rng.below(60)), linear(1 + int(rng.below(20)))));
    PlacingScene d("2xa100-40gb", {"4g@0+3g@4", "2g@0+2g@2+2g@4+1g@6"}, std::move(jobs));
    ValuePlacer placer(shipped_job_weights(), 0);
    Plan plan;
    placer.place(d.cluster, d.usable, plan);
    std::set<std::pair<std::size_t, std::size_t>> slices;
    std::set<JobId> placed;
    for (const Start& s : plan.starts) {
      EXPECT_TRUE(d.usable.layout[index(s.gpu)].contains(s.where)) << "seed " << seed;
      slices.emplace(index(s.gpu), index(s.where));
      placed.insert(s.job);
    }
    EXPECT_EQ(slices.size(), std::min<std::size_t>(n, 6)) << "seed " << seed;
    EXPECT_EQ(placed.size(), plan.starts.size()) << "seed " << seed;
    EXPECT_EQ(slices.size(), plan.starts.size()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace smartmig
