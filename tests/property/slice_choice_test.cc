// What a GPU can still become against brute force, and the choice of a slice against a plain search over the starts.
#include "mig/slice_choice.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/text.h"
#include "mig/catalog.h"
#include "mig/fragmentation.h"
#include "mig/moves.h"
#include "random_world.h"

namespace smartmig {
namespace {

Layout random_subset(Rng& rng, const GpuModel& model, Layout layout) {
  return model.subset(layout, std::uint32_t(rng.next() & rng.next()));
}

TEST(PartitionProperty, ReachabilityEqualsBruteForce) {
  const std::uint64_t seed = 77;
  for (const auto& model : Catalog::builtin().models()) {
    const CompleteLayouts table(*model);
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

// Every way to give the slice, weighed by the words in the header alone.
std::optional<SliceOffer> plain_choice(const GpuModel& m, const SliceRoom& room, int profile) {
  std::optional<SliceOffer> best;
  double best_ratio = 0;
  for (std::size_t i = 0; i < m.placements().size(); ++i) {
    const PlacementId p{std::uint8_t(i)};
    if (m.placements()[i].profile != profile || room.taken.contains(p)) continue;
    const auto with = m.with(room.taken, p);
    if (!with) continue;
    SliceOffer offer;
    offer.where = p;
    if (!room.target.contains(p)) {
      if (room.changing) continue;
      bool in_the_way = false;
      for (PlacementId q : room.target) in_the_way |= (m.placement(q).mask & m.placement(p).mask) != 0;
      offer.means = in_the_way ? SliceOffer::kMakeWay : SliceOffer::kCreate;
    } else if (!room.ready.contains(p)) {
      offer.means = SliceOffer::kUnderWay;
    }
    const double ratio = double(reach(m, *with, m.schedulable_profiles()).maximal) /
                         reach(m, room.taken, m.schedulable_profiles()).maximal;
    if (best && (offer.means > best->means || (offer.means == best->means && ratio <= best_ratio * (1 + 1e-12))))
      continue;
    best = offer;
    best_ratio = ratio;
  }
  return best;
}

TEST(PartitionProperty, ChoiceEqualsThePlainSearch) {
  const std::uint64_t seed = 4711;
  Rng rng(seed);
  int found = 0, none = 0;
  for (const char* name : {"a30-24gb", "a100-40gb"}) {
    const auto model = *Catalog::builtin().find(name);
    const SliceChoice choice(*model);
    const auto layouts = model->layouts(model->schedulable_profiles());
    for (int i = 0; i < cases(200); ++i) {
      SliceRoom room;
      room.target = layouts[rng.below(layouts.size())];
      room.taken = random_subset(rng, *model, room.target);
      room.changing = rng.below(4) == 0;
      room.ready = room.changing ? room.taken : room.target;
      const int profile = int(rng.below(model->profiles().size()));
      const auto fast = choice.best(room, profile), plain = plain_choice(*model, room, profile);
      ASSERT_EQ(bool(fast), bool(plain)) << "seed " << seed << " case " << i;
      found += bool(fast);
      none += !fast;
      if (!fast) continue;
      ASSERT_EQ(index(fast->where), index(plain->where)) << "seed " << seed << " case " << i;
      ASSERT_EQ(fast->means, plain->means);
      ASSERT_TRUE(fast->target.contains(room.taken)) << "an offer touches a taken slice";
      ASSERT_TRUE(fast->target.contains(fast->where));
      if (fast->means <= SliceOffer::kUnderWay) {
        ASSERT_EQ(fast->target, room.target);
      }
    }
  }
  EXPECT_GT(found, none / 10);
}

TEST(PartitionProperty, FragmentationIsZeroExactlyWhenNothingCouldStandBetter) {
  const auto model = *Catalog::builtin().find("a100-40gb");
  const FragmentationTable table(*model);
  const auto layouts = model->layouts(model->schedulable_profiles());
  for (Layout busy : layouts) {
    const Fragmentation f = table.of(busy);
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
