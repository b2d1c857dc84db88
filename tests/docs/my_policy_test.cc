// The placing rule of docs/policies.md: the page and this file hold the same text, and it runs.
#include <gtest/gtest.h>

#include "base/file.h"
#include "model/fixture.h"
#include "policy/repartitioners.h"
#include "sim/simulate.h"

// [docs/policies.md: begin]
#include "policy/plain_placer.h"
#include "policy/slice_rules.h"
#include "support/paths.h"

namespace smartmig {

// Shortest job first, each to the free slice that spends the fewest slice-seconds on it.
class ShortestFirst : public PlacingRule {
 public:
  void order(const Cluster& cluster, std::vector<JobId>& jobs) override {
    order_by(cluster, jobs, [&](JobId job) {  // then by deadline, then by id
      Time least = kNever;
      for (const Time work : cluster.jobs().work_row(job))
        if (work >= Time{0}) least = std::min(least, work);
      return least;
    });
  }

  Slot choose(const Cluster& cluster, const Board& board, JobId job) override {
    const FinishByType finish(cluster, job);
    Slot best;
    double best_cost = 0;
    for (std::uint32_t g = 0; g < board.gpus().size(); ++g)
      for (const PlacementId p : board.small_to_large(g)) {
        const TypeId type = cluster.platform().type_of(GpuId(g), p);
        if (!(board.gpus()[g].free >> index(p) & 1) || finish[type] == kNever) continue;
        const double cost = seconds(finish[type] - cluster.now()) * cluster.platform().type(type).compute_slices;
        if (!best.none() && cost >= best_cost) continue;  // ties: lowest GPU, smallest slice
        best = {GpuId(g), p};
        best_cost = cost;
      }
    return best;
  }
};

}  // namespace smartmig
// [docs/policies.md: end]

namespace smartmig {
namespace {

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto from = text.find(begin);
  if (from == text.npos) return "no '" + begin + "'";
  const auto to = text.find(end, from + begin.size());
  return to == text.npos ? "no '" + end + "'" : text.substr(from + begin.size(), to - from - begin.size());
}

TEST(Docs, ThePageShowsTheRuleThatIsTested) {
  const std::string page = read_file(source_dir() + "/docs/policies.md").value();
  const std::string source = read_file(source_dir() + "/tests/docs/my_policy_test.cc").value();
  EXPECT_EQ(between(page, "```cpp\n", "```"),
            between(source, "// [docs/policies.md: begin]\n", "// [docs/policies.md: end]"));
}

TEST(Docs, TheRuleDoesWhatThePageSays) {
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
