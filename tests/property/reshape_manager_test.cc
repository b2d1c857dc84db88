// The tables of the partition manager against brute force, and its choices against a plain search over the fleet.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/text.h"
#include "live/gpu/partition_manager.h"
#include "mig/catalog.h"
#include "model/reconfig.h"
#include "random_world.h"

namespace smartmig {
namespace {

using random_world::cases;

Layout random_subset(Rng& rng, const GpuModel& model, Layout layout) {
  return model.subset(layout, std::uint32_t(rng.next() & rng.next()));
}

TEST(PartitionProperty, ReachabilityEqualsBruteForce) {
  const std::uint64_t seed = 77;
  for (const auto& model : Catalog::builtin().models()) {
    const ReachTable table(*model);
    const auto all = model->layouts(model->all_profiles());
    ASSERT_EQ(table.size(), all.size());
    std::uint32_t schedulable = 0;
    for (std::size_t i = 0; i < model->placements().size(); ++i)
      if (model->schedulable_profiles() >> model->placements()[i].profile & 1) schedulable |= 1u << i;
    Rng rng(seed, hash_text(model->name()));
    for (int i = 0; i < cases(300); ++i) {
      const Layout busy = all[rng.below(all.size())];
      std::uint32_t count = 0;
      for (Layout layout : all)
        count += layout.contains(busy) && ((layout - busy).bits() & ~schedulable) == 0 &&
                 model->maximal(layout, model->schedulable_profiles());
      ASSERT_EQ(table.complete(busy), count)
          << "seed " << seed << " " << model->name() << " " << to_string(*model, busy);
      if (i < 20) {
        ASSERT_EQ(int(count), reach(*model, busy, model->schedulable_profiles()).maximal);
      }
    }
  }
}

// Every way to give the slice, weighed by the sentence in the header alone.
std::optional<SliceOffer> plain_choice(const PartitionManager& manager, std::size_t gpus,
                                       const std::vector<int>& wanted) {
  std::optional<SliceOffer> best;
  double best_ratio = 0;
  for (std::size_t g = 0; g < gpus; ++g) {
    const GpuId gpu{std::uint32_t(g)};
    const GpuModel& m = manager.model(gpu);
    std::size_t kind = 0;
    while (&manager.kind(kind) != &m) ++kind;
    if (wanted[kind] < 0) continue;
    for (std::size_t i = 0; i < m.placements().size(); ++i) {
      const PlacementId p{std::uint8_t(i)};
      if (m.placements()[i].profile != wanted[kind] || manager.busy(gpu).contains(p)) continue;
      const auto with = m.with(manager.busy(gpu), p);
      if (!with) continue;
      SliceOffer offer;
      offer.gpu = gpu;
      offer.placement = p;
      int class_of = 0;
      if (!manager.layout(gpu).contains(p)) {
        Layout rest = manager.layout(gpu);
        bool destroyed = false;
        for (PlacementId q : manager.layout(gpu))
          if (m.placement(q).mask & m.placement(p).mask) {
            rest = rest.without(q);
            destroyed = true;
            offer.predicted += reconfig_time(m, m.placement(q).profile).destroy;
          }
        if (!m.with(rest, p)) continue;
        offer.predicted += reconfig_time(m, wanted[kind]).create;
        class_of = destroyed ? 2 : 1;
      }
      const double before = reach(m, manager.busy(gpu), m.schedulable_profiles()).maximal,
                   after = reach(m, *with, m.schedulable_profiles()).maximal;
      const int known = best ? std::min<int>(best->means, SliceOffer::kFission) : 9;
      const double ratio = after / before;
      const bool better =
          class_of < known ||
          (class_of == known && (ratio > best_ratio * (1 + 1e-12) ||
                                 (ratio > best_ratio * (1 - 1e-12) && offer.predicted < best->predicted)));
      if (!better) continue;
      offer.means = SliceOffer::Means(class_of);
      best = offer;
      best_ratio = ratio;
    }
  }
  return best;
}

TEST(PartitionProperty, ChoiceEqualsThePlainSearch) {
  const std::uint64_t seed = 4711;
  Rng rng(seed);
  const auto& catalog = Catalog::builtin();
  int found = 0, none = 0;
  for (int world = 0; world < cases(60); ++world) {
    std::vector<std::shared_ptr<const GpuModel>> gpus;
    const std::size_t n = 1 + rng.below(5);
    for (std::size_t i = 0; i < n; ++i) gpus.push_back(*catalog.find(rng.below(3) == 0 ? "a30-24gb" : "a100-40gb"));
    PartitionManager manager(gpus);
    for (int round = 0; round < 6; ++round) {
      for (std::size_t i = 0; i < n; ++i) {
        const auto layouts = gpus[i]->layouts(gpus[i]->schedulable_profiles());
        const Layout layout = layouts[rng.below(layouts.size())];
        manager.set(GpuId(std::uint32_t(i)), layout, random_subset(rng, *gpus[i], layout));
      }
      std::vector<int> wanted;
      for (std::size_t k = 0; k < manager.kinds(); ++k)
        wanted.push_back(rng.below(5) == 0 ? -1 : int(rng.below(manager.kind(k).profiles().size())));
      const auto fast = manager.choose(wanted), plain = plain_choice(manager, n, wanted);
      ASSERT_EQ(bool(fast), bool(plain)) << "seed " << seed << " world " << world;
      found += bool(fast);
      none += !fast;
      if (!fast) continue;
      ASSERT_EQ(index(fast->gpu), index(plain->gpu)) << "seed " << seed << " world " << world;
      ASSERT_EQ(index(fast->placement), index(plain->placement)) << "seed " << seed << " world " << world;
      ASSERT_EQ(fast->predicted.count(), plain->predicted.count());
      const GpuModel& m = manager.model(fast->gpu);
      ASSERT_TRUE(legal(fast->move, manager.busy(fast->gpu))) << "an offer touches a busy slice";
      if (fast->means != SliceOffer::kReuse) {
        ASSERT_TRUE(fast->move.create.contains(fast->placement));
        ASSERT_TRUE(m.with(manager.layout(fast->gpu) - fast->move.destroy, fast->placement));
      }
    }
  }
  EXPECT_GT(found, none / 10);
}

TEST(PartitionProperty, FragmentationIsZeroExactlyWhenNothingCouldStandBetter) {
  const auto model = *Catalog::builtin().find("a100-40gb");
  PartitionManager manager({model});
  const auto layouts = model->layouts(model->schedulable_profiles());
  for (Layout busy : layouts) {
    manager.set(GpuId{0}, busy, busy);
    const Fragmentation f = manager.fragmentation(GpuId{0});
    int best = 0;
    for (Layout other : layouts)
      if (shape_of(*model, other) == shape_of(*model, busy))
        best = std::max(best, reach(*model, other, model->schedulable_profiles()).maximal);
    const int now = reach(*model, busy, model->schedulable_profiles()).maximal;
    ASSERT_DOUBLE_EQ(f.score, 1 - double(now) / best) << to_string(*model, busy);
    ASSERT_EQ(f.score == 0, f.packed == busy) << to_string(*model, busy);
    ASSERT_EQ(f.moves.size(), std::size_t((busy - f.packed).size()));
    Layout moved = busy;
    for (const auto& [from, to] : f.moves) moved = moved.without(from);
    for (const auto& [from, to] : f.moves) moved = *model->with(moved, to);
    ASSERT_EQ(moved, f.packed);
  }
}

}  // namespace
}  // namespace smartmig
