// The geometry against brute force that shares no code with it: validity by painting slices into an array.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/rng.h"
#include "base/text.h"
#include "mig/catalog.h"
#include "mig/moves.h"
#include "mig/shape.h"

namespace smartmig {
namespace {

const GpuModel& model_named(const char* name) { return **Catalog::builtin().find(name); }

// Is this set of placements (bits) valid? From the profile rows alone.
bool valid_by_painting(const GpuModel& model, std::uint32_t bits) {
  std::array<bool, 64> painted{};
  std::map<std::string, int> instances;
  int media = 0, all_media = 0, rest = 0, id = 0;
  for (const Profile& p : model.profiles())
    for (int start : p.starts) {
      if (!(bits >> id++ & 1)) continue;
      for (int s = start; s < start + p.memory_slices; ++s) {
        if (s >= model.memory_slices() || painted[std::size_t(s)]) return false;
        painted[std::size_t(s)] = true;
      }
      if (++instances[p.name] > p.max_instances) return false;
      media += p.variant == Variant::kMedia;
      all_media += p.variant == Variant::kAllMedia;
      rest += p.variant != Variant::kAllMedia && p.variant != Variant::kNoMedia;
    }
  return media <= 1 && (all_media == 0 || (all_media == 1 && rest == 0));
}

std::uint32_t bits_of(const GpuModel& model, ProfileMask profiles) {
  std::uint32_t bits = 0;
  int id = 0;
  for (std::size_t i = 0; i < model.profiles().size(); ++i)
    for (std::size_t s = 0; s < model.profiles()[i].starts.size(); ++s, ++id)
      if (profiles >> i & 1) bits |= 1u << id;
  return bits;
}

// All valid sets over these profiles, by walking every subset of their placements.
std::vector<std::uint32_t> all_by_painting(const GpuModel& model, ProfileMask profiles) {
  const std::uint32_t allowed = bits_of(model, profiles);
  std::vector<std::uint32_t> found;
  std::uint32_t subset = 0;
  do {
    if (std::popcount(subset) <= 12 && valid_by_painting(model, subset)) found.push_back(subset);
    subset = (subset - allowed) & allowed;
  } while (subset != 0);
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::uint32_t> maximal_of(const std::vector<std::uint32_t>& all) {
  std::vector<std::uint32_t> maximal;
  for (std::uint32_t a : all)
    if (std::none_of(all.begin(), all.end(), [a](std::uint32_t b) { return a != b && (a & b) == a; }))
      maximal.push_back(a);
  return maximal;
}

std::multiset<std::string> names_of(const GpuModel& model, std::uint32_t bits) {
  std::multiset<std::string> names;
  int id = 0;
  for (const Profile& p : model.profiles())
    for (std::size_t s = 0; s < p.starts.size(); ++s, ++id)
      if (bits >> id & 1) names.insert(p.name);
  return names;
}

std::size_t shapes_of(const GpuModel& model, const std::vector<std::uint32_t>& sets) {
  std::set<std::multiset<std::string>> shapes;
  for (std::uint32_t bits : sets) shapes.insert(names_of(model, bits));
  return shapes.size();
}

struct Expected {
  const char* gpu;
  bool doubled;
  std::size_t valid, maximal, shapes, maximal_shapes;
};

class Geometry : public ::testing::TestWithParam<Expected> {};

TEST_P(Geometry, LayoutsEqualBruteForce) {
  const auto [name, doubled, valid, maximal, shapes, maximal_shapes] = GetParam();
  const GpuModel& model = model_named(name);
  const ProfileMask profiles = doubled ? model.schedulable_profiles() : model.plain_profiles();
  const auto brute = all_by_painting(model, profiles);
  const auto top = maximal_of(brute);
  EXPECT_EQ(brute.size(), valid);
  EXPECT_EQ(top.size(), maximal);
  EXPECT_EQ(shapes_of(model, brute), shapes);
  EXPECT_EQ(shapes_of(model, top), maximal_shapes);
  const auto layouts = model.layouts(profiles);
  ASSERT_EQ(layouts.size(), brute.size());
  std::vector<std::uint32_t> found_maximal;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    EXPECT_EQ(layouts[i].bits(), brute[i]);
    if (model.maximal(layouts[i], profiles)) found_maximal.push_back(layouts[i].bits());
  }
  EXPECT_EQ(found_maximal, top);
  const ShapeTable table(model, profiles);
  EXPECT_EQ(table.shapes().size(), shapes);
  EXPECT_EQ(table.maximal_shapes().size(), maximal_shapes);
}

INSTANTIATE_TEST_SUITE_P(Models, Geometry,
                         ::testing::Values(Expected{"a100-40gb", false, 298, 19, 38, 14},
                                           Expected{"a100-40gb", true, 723, 78, 78, 38},
                                           Expected{"h200-141gb", false, 298, 19, 38, 14},
                                           Expected{"a30-24gb", false, 26, 5, 10, 4},
                                           Expected{"rtx-pro-6000-blackwell-96gb", false, 26, 5, 10, 4}));

TEST(GeometryProperty, MediaProfilesOfTheA100AndAllOfTheA30) {
  const GpuModel& a100 = model_named("a100-40gb");
  EXPECT_EQ(a100.layouts(a100.all_profiles()).size(), 2319u);
  for (Layout layout : a100.layouts(a100.all_profiles())) EXPECT_TRUE(valid_by_painting(a100, layout.bits()));
  const GpuModel& a30 = model_named("a30-24gb");
  const auto brute = all_by_painting(a30, a30.all_profiles());
  const auto layouts = a30.layouts(a30.all_profiles());
  ASSERT_EQ(layouts.size(), brute.size());
  for (std::size_t i = 0; i < brute.size(); ++i) EXPECT_EQ(layouts[i].bits(), brute[i]);
}

TEST(GeometryProperty, FitsAgreesWithPaintingOnEveryModel) {
  const std::uint64_t seed = 20240;
  for (const auto& model : Catalog::builtin().models()) {
    Rng rng(seed, hash_text(model->name()));
    for (int round = 0; round < 300; ++round) {
      Layout layout;
      for (int step = 0; step < 12; ++step) {
        const auto p = PlacementId(rng.below(model->placements().size()));
        const bool expected = !layout.contains(p) && valid_by_painting(*model, layout.bits() | 1u << index(p));
        const auto next = model->with(layout, p);
        ASSERT_EQ(bool(next), expected) << "seed " << seed << ", " << model->name() << " " << to_string(*model, layout);
        if (next) layout = *next;
      }
    }
  }
}

TEST(GeometryProperty, MaxInstancesAreWhatPlacementsAllow) {
  for (const auto& model : Catalog::builtin().models())
    for (const Profile& p : model->profiles()) {
      int disjoint = 0, free_from = 0;  // greedy by start is best for runs of one length
      for (int start : p.starts)
        if (start >= free_from) {
          ++disjoint;
          free_from = start + p.memory_slices;
        }
      const bool one_only = p.variant == Variant::kMedia || p.variant == Variant::kAllMedia;
      EXPECT_EQ(p.max_instances, one_only ? 1 : disjoint) << model->name() << " " << p.name;
    }
}

TEST(GeometryProperty, RealiseKeepsTheMostBusy) {
  const std::uint64_t seed = 7;
  for (const char* name : {"a100-40gb", "a30-24gb", "rtx-pro-6000-blackwell-96gb"}) {
    const GpuModel& model = model_named(name);
    const ShapeTable table(model, model.schedulable_profiles());
    const auto all = all_by_painting(model, model.schedulable_profiles());
    const auto layouts = model.layouts(model.schedulable_profiles());
    Rng rng(seed, hash_text(name));
    for (int round = 0; round < 100; ++round) {
      const Layout current = layouts[rng.below(layouts.size())];
      const Layout busy = model.subset(current, std::uint32_t(rng.next()));
      const Shape shape = table.shapes()[rng.below(table.shapes().size())];
      const auto found = table.realise(shape, current, busy);
      ASSERT_TRUE(found);
      EXPECT_EQ(shape_of(model, *found), shape);
      const auto names = names_of(model, found->bits());
      std::tuple<int, int> best(-1, -1);
      std::uint32_t lowest = 0;
      for (std::uint32_t bits : all) {
        if (std::popcount(bits) != found->size()) continue;
        const std::tuple kept(std::popcount(bits & busy.bits()), std::popcount(bits & current.bits()));
        if (kept > best && names_of(model, bits) == names) {
          best = kept;
          lowest = bits;
        }
      }
      EXPECT_EQ(found->bits(), lowest) << "seed " << seed << " round " << round << ": " << to_string(model, current)
                                       << " busy " << to_string(model, busy) << " to " << to_string(model, shape);
    }
  }
}

TEST(GeometryProperty, MovesStayValidAndNeverTouchBusy) {
  const std::uint64_t seed = 11;
  for (const auto& model : Catalog::builtin().models()) {
    const auto layouts = model->layouts(model->all_profiles());
    Rng rng(seed, hash_text(model->name()));
    for (int round = 0; round < 200; ++round) {
      const Layout from = layouts[rng.below(layouts.size())], to = layouts[rng.below(layouts.size())];
      const Layout busy = model->subset(from, std::uint32_t(rng.next()));
      const Move move = move_between(from, to);
      std::uint32_t state = from.bits();
      bool touched = false;
      for (const Operation& op : operations(*model, move)) {
        const std::uint32_t bit = 1u << index(op.placement);
        ASSERT_EQ((state & bit) != 0, op.kind == Operation::kDestroy) << "seed " << seed;
        touched = touched || (busy.bits() & bit);
        state ^= bit;
        ASSERT_TRUE(valid_by_painting(*model, state)) << "seed " << seed << ", " << model->name() << " "
                                                      << to_string(*model, from) << " to " << to_string(*model, to);
      }
      EXPECT_EQ(state, to.bits());
      EXPECT_EQ(legal(move, busy), !touched);
      EXPECT_EQ(legal(move, busy), to.contains(busy));
    }
  }
}

TEST(GeometryProperty, ReachEqualsBruteForce) {
  const std::uint64_t seed = 13;
  for (const char* name : {"a100-40gb", "a30-24gb"}) {
    const GpuModel& model = model_named(name);
    const ProfileMask profiles = model.schedulable_profiles();
    const auto all = all_by_painting(model, profiles);
    const auto layouts = model.layouts(profiles);
    const auto count = [&](std::uint32_t busy) {
      std::vector<std::uint32_t> around;
      for (std::uint32_t bits : all)
        if ((bits & busy) == busy) around.push_back(bits);
      return around;
    };
    Rng rng(seed, hash_text(name));
    for (int round = 0; round < 60; ++round) {
      const Layout busy = model.subset(layouts[rng.below(layouts.size())], std::uint32_t(rng.next()));
      const auto around = count(busy.bits());
      const Reach expected{int(around.size()), int(maximal_of(around).size()), int(shapes_of(model, around))};
      EXPECT_EQ(reach(model, busy, profiles), expected) << "seed " << seed << ": " << to_string(model, busy);
      const int profile = int(rng.below(model.profiles().size()));
      if (!(profiles >> profile & 1)) continue;
      std::size_t most = 0;
      PlacementId best = kNoPlacement;
      for (int start : model.profiles()[std::size_t(profile)].starts) {
        const PlacementId p = model.find_placement(profile, start);
        if (busy.contains(p)) continue;
        if (const std::size_t n = count(busy.bits() | 1u << index(p)).size(); n > most) {
          most = n;
          best = p;
        }
      }
      EXPECT_EQ(best_placement(model, busy, profile, profiles).value_or(kNoPlacement), best)
          << "seed " << seed << ": " << to_string(model, busy);
    }
  }
}

TEST(GeometryProperty, TextRoundTrips) {
  for (const auto& model : Catalog::builtin().models()) {
    const auto layouts = model->layouts(model->all_profiles());
    for (std::size_t i = 0; i < layouts.size(); i += 7) {
      const auto again = parse_layout(*model, to_string(*model, layouts[i]));
      ASSERT_TRUE(again) << model->name() << ": " << again.error().what;
      EXPECT_EQ(*again, layouts[i]);
      const Shape shape = shape_of(*model, layouts[i]);
      const auto same = parse_shape(*model, to_string(*model, shape));
      ASSERT_TRUE(same) << model->name() << ": " << same.error().what;
      EXPECT_EQ(*same, shape);
    }
  }
}

}  // namespace
}  // namespace smartmig
