// The placing rule that docs/policies.md names, examples/shortest_first.h, compiles and runs.
#include <gtest/gtest.h>

#include "../../examples/shortest_first.h"
#include "policy/layouts/repartitioners.h"
#include "sim/simulate.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

TEST(Docs, TheRuleDoesWhatItsCommentSays) {
  // 4g+3g. Job 1 is shorter. A linear job costs the same slice-seconds everywhere, so the smaller slice wins the tie;
  // the capped job costs 10 x 3 on 3g and 10 x 4 on 4g, and 3g is taken.
  const auto platform = fixture::platform("1xa100-40gb");
  const auto jobs =
      fixture::bind({fixture::job(0, 99, {30, 15, 10, 10, 10}), fixture::job(0, 99, fixture::linear(3))}, *platform);
  const SimSetup setup{platform, jobs, {}, fixture::layouts(*platform, {"4g@0+3g@4"}), 2e-7};
  PairPolicy policy(
      std::make_unique<FixedShapes>(std::vector<Shape>{shape_of(*platform->model(GpuId(0)).gpu, setup.initial[0])}),
      std::make_unique<PlainPlacer>(std::make_unique<ShortestFirst>()));
  const auto result = simulate(setup, policy);
  ASSERT_TRUE(result) << result.error().what;
  EXPECT_EQ(result->refused, 0u) << result->last_refusal;
  EXPECT_EQ(result->final.state(JobId(1)).finish, fixture::min(7));  // on 3g from the first
  // Job 0 began on 3g, made way for job 1 at once (both arrive at 0), and runs its 10 min on 4g; at 7 it moves back to
  // 3g.
  EXPECT_EQ(result->final.state(JobId(0)).finish, fixture::min(10));
  EXPECT_EQ(result->final.state(JobId(0)).type, platform->type_of(GpuId(0), fixture::slice(*platform, 0, "3g@4")));
}

}  // namespace
}  // namespace smartmig
