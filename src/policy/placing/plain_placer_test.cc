#include "policy/placing/plain_placer.h"

#include <gtest/gtest.h>

#include "policy/placing/placing_rules.h"
#include "support/placing_scene.h"

namespace smartmig {
namespace {

using fixture::job;
using fixture::linear;
using fixture::PlacingScene;
using Plans = std::vector<std::string>;

PlainPlacer placer_of(std::unique_ptr<PlacingRule> rule) { return PlainPlacer(std::move(rule)); }

TEST(PlainPlacer, AJobStaysIfItsSliceIsAmongTheChosen) {
  // Job 0 runs on GPU 0. Job 1 is more urgent and chooses GPU 0; job 0 then chooses GPU 1. Both slices are equal, so
  // job 0 stays where it is and job 1 starts on GPU 1: the same speeds, and nobody moves.
  PlacingScene d("2xa100-40gb", {"7g@0", "7g@0"}, {job(0, 30, linear(10)), job(0, 20, linear(10))});
  d.start(0, 0, "7g@0");
  auto placer = placer_of(make_cedf_rule());
  EXPECT_EQ(d.plan_of(placer), (Plans{"1>1:7g.40gb@0"}));
}

TEST(PlainPlacer, ALessUrgentJobStepsAside) {
  PlacingScene d("1xa100-40gb", {"7g@0"}, {job(0, 30, linear(10)), job(0, 20, linear(10))});
  d.start(0, 0, "7g@0");
  auto placer = placer_of(make_edf_rule());
  EXPECT_EQ(d.plan_of(placer), (Plans{"stop 0", "1>0:7g.40gb@0"}));
}

TEST(PlainPlacer, AJobOnASliceThatGoesIsStopped) {
  PlacingScene d("1xa100-40gb", {"4g@0+3g@4"}, {job(0, 30, linear(1))});
  d.start(0, 0, "4g@0");
  d.usable.layout = fixture::layouts(*d.platform, {"3g@0+3g@4"});
  auto placer = placer_of(make_edf_rule());
  EXPECT_EQ(d.plan_of(placer), (Plans{"stop 0", "0>0:3g.20gb@0"}));
  d.usable.layout = fixture::layouts(*d.platform, {"empty"});
  d.usable.version = 2;
  EXPECT_EQ(d.plan_of(placer), (Plans{"stop 0"}));
}

TEST(PlainPlacer, UnderHardwareCostsNobodyMoves) {
  PlacingScene d("1xa100-40gb", {"4g@0+3g@4"},
                 {job(0, 300, linear(10)), job(0, 20, linear(10)), job(0, 10, linear(10))}, {CostModel::kHardware, {}});
  d.start(0, 0, "4g@0");  // though the others are more urgent
  auto placer = placer_of(make_edf_rule());
  EXPECT_EQ(d.plan_of(placer), (Plans{"2>0:3g.20gb@4"}));
}

TEST(PlainPlacer, UnderHardwareCostsAJobGetsTheVerySliceItsRuleChose) {
  // Of two whole GPUs the first is for inference. The training job is more urgent and chooses first; it must not get
  // GPU 0.
  PlacingScene d("2xa100-40gb", {"7g@0", "7g@0"}, {job(0, 10, linear(1), 1), job(0, 20, linear(1), 0)},
                 {CostModel::kHardware, {}}, {"bert-infer", "bert-train"});
  auto placer = placer_of(make_dedicated_rule(1));
  EXPECT_EQ(d.plan_of(placer), (Plans{"0>1:7g.40gb@0", "1>0:7g.40gb@0"}));
}

}  // namespace
}  // namespace smartmig
