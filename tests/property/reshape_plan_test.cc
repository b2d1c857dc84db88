// Random reshapes around random busy sets, on every model of the catalogue: a busy slice is never touched, the wanted
// layout comes out or a clear refusal, and there is no shorter way.
#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "base/text.h"
#include "live/gpu/reshape.h"
#include "mig/catalog.h"
#include "random_world.h"

namespace smartmig {
namespace {

// Carries the steps out on a plain set of placement numbers; every state on the way must be a layout of the model.
std::set<std::uint32_t> carry_out(const GpuModel& model, const ReshapePlan& plan, Layout busy) {
  std::set<std::uint32_t> now;
  for (PlacementId p : plan.from) now.insert(index(p));
  for (const ReshapeStep& step : plan.steps) {
    const std::uint32_t p = index(step.operation.placement);
    if (step.operation.kind == Operation::kDestroy) {
      EXPECT_EQ(now.erase(p), 1u) << "destroys what is not there";
      EXPECT_FALSE(busy.contains(step.operation.placement)) << "destroys a busy slice";
    } else {
      EXPECT_TRUE(now.insert(p).second) << "creates what is there";
    }
    std::vector<PlacementId> list;
    for (std::uint32_t q : now) list.push_back(PlacementId(q));
    EXPECT_TRUE(model.layout_of(list)) << "an impossible state on the way";
    EXPECT_GT(step.predicted.count(), 0);
  }
  return now;
}

int distance(Layout a, Layout b) { return (a - b).size() + (b - a).size(); }

TEST(ReshapeProperty, LayoutsAroundBusySlices) {
  const std::uint64_t seed = 20261115;
  std::uint64_t done = 0, refused = 0;
  for (const auto& model : Catalog::builtin().models()) {
    const auto layouts = model->layouts(model->all_profiles());
    Rng rng(seed, hash_text(model->name()));
    for (int i = 0; i < cases(20'000); ++i) {
      const Layout from = layouts[rng.below(layouts.size())], to = layouts[rng.below(layouts.size())];
      const Layout busy = model->subset(from, std::uint32_t(rng.next() & rng.next()));
      const auto plan = plan_reshape(*model, from, busy, to);
      const std::string words = fmt::format("seed {}, case {} of {}: {} to {} with {} busy", seed, i, model->name(),
                                            to_string(*model, from), to_string(*model, to), to_string(*model, busy));
      if (!plan) {
        ++refused;
        ASSERT_FALSE(to.contains(busy)) << words;
        ASSERT_EQ(plan.error().code, Error::kBusy) << words;
        for (PlacementId p : busy - to)
          ASSERT_NE(plan.error().what.find(slice_name(*model, p)), std::string::npos) << words;
        continue;
      }
      ++done;
      ASSERT_TRUE(to.contains(busy)) << words;
      ASSERT_EQ(int(plan->steps.size()), distance(from, to)) << words;
      const auto end = carry_out(*model, *plan, busy);
      std::set<std::uint32_t> wanted;
      for (PlacementId p : to) wanted.insert(index(p));
      ASSERT_EQ(end, wanted) << words;
      ASSERT_FALSE(::testing::Test::HasFailure()) << words;
    }
  }
  EXPECT_GT(done, refused / 20);
  EXPECT_GT(refused, done / 20);
}

TEST(ReshapeProperty, ShapesTakeTheShortestWayThatKeepsWhatIsBusy) {
  const std::uint64_t seed = 20261116;
  for (const auto& model : Catalog::builtin().models()) {
    const ShapeTable table(*model, model->schedulable_profiles());
    const auto layouts = model->layouts(model->schedulable_profiles());
    Rng rng(seed, hash_text(model->name()));
    for (int i = 0; i < cases(2'000); ++i) {
      const Layout from = layouts[rng.below(layouts.size())];
      const Layout busy = model->subset(from, std::uint32_t(rng.next() & rng.next()));
      const Shape to = table.shapes()[rng.below(table.shapes().size())];
      int shortest = 1 << 20;
      for (Layout layout : layouts)
        if (layout.contains(busy) && shape_of(*model, layout) == to)
          shortest = std::min(shortest, distance(from, layout));
      const auto plan = plan_reshape(table, from, busy, to);
      const std::string words = fmt::format("seed {}, case {} of {}: {} to {} with {} busy", seed, i, model->name(),
                                            to_string(*model, from), to_string(*model, to), to_string(*model, busy));
      ASSERT_EQ(bool(plan), shortest < 1 << 20) << words;
      if (!plan) continue;
      ASSERT_EQ(int(plan->steps.size()), shortest) << words;
      ASSERT_EQ(shape_of(*model, plan->to), to) << words;
      carry_out(*model, *plan, busy);
      ASSERT_FALSE(::testing::Test::HasFailure()) << words;
    }
  }
}

}  // namespace
}  // namespace smartmig
