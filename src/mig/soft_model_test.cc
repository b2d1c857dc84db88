#include "mig/soft_model.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"
#include "mig/choose.h"
#include "mig/shape.h"

namespace smartmig {
namespace {

TEST(SoftModel, HasWhatTheModelHasAndFourteenHalves) {
  const auto soft = Catalog::builtin().find("h200-141gb-soft");
  ASSERT_TRUE(soft) << soft.error().what;
  const GpuModel& model = **soft;
  EXPECT_EQ(model.name(), "h200-141gb-soft");
  EXPECT_EQ(model.tables(), "h200-141gb");
  EXPECT_EQ((*Catalog::builtin().find("h200-141gb"))->tables(), "h200-141gb");
  EXPECT_EQ(model.compute_slices(), 7);
  EXPECT_EQ(model.memory_slices(), 16);
  const int half = model.find_profile("1g.8gb"), whole = model.find_profile("1g");
  ASSERT_GE(half, 0);
  ASSERT_EQ(model.profiles()[std::size_t(whole)].name, "1g.18gb");
  EXPECT_EQ(2 * model.profiles()[std::size_t(half)].memory_mib, model.profiles()[std::size_t(whole)].memory_mib);
  EXPECT_EQ(model.profiles()[std::size_t(half)].sms, model.profiles()[std::size_t(whole)].sms);
  Layout layout;
  int halves = 0;
  for (std::size_t p = 0; p < model.placements().size(); ++p)
    if (model.placements()[p].profile == half)
      if (const auto more = model.with(layout, PlacementId(p))) layout = *more, ++halves;
  EXPECT_EQ(halves, 14);
  EXPECT_TRUE(parse_layout(model, "1g.8gb@0+1g.8gb@1+1g.18gb@2+4g@0") ? false : true) << "they take the memory of a 4g";
  EXPECT_TRUE(parse_layout(model, "1g.8gb@0+1g.8gb@1+1g.18gb@2+3g@8"));
}

// Every division of the model itself can be had with soft slices, at twice the start.
TEST(SoftModel, EveryHardLayoutIsASoftOne) {
  for (const auto& hard : Catalog::builtin().models()) {
    const auto soft = soft_model(*hard);
    if (!soft) continue;
    for (const Layout layout : hard->layouts(hard->schedulable_profiles())) {
      std::vector<PlacementId> there;
      for (const PlacementId p : layout)
        there.push_back(
            soft->find_placement(soft->find_profile(hard->profile_of(p).name), 2 * hard->placement(p).start));
      ASSERT_TRUE(soft->layout_of(there)) << hard->name() << " " << to_string(*hard, layout);
    }
  }
}

TEST(SoftModel, NoneWhereHalfASliceIsTooLittle) {
  EXPECT_FALSE(soft_model(**Catalog::builtin().find("a100-40gb")));
  const auto refused = Catalog::builtin().find("a100-40gb-soft");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("too small"), std::string::npos) << refused.error().what;
  EXPECT_FALSE(Catalog::builtin().find("nothing-soft"));
}

TEST(SoftModel, HalvesAreForThoseWhoseMemoryIsKnown) {
  const GpuModel& model = **Catalog::builtin().find("h200-141gb-soft");
  const auto chosen = [&](int mib) { return model.profiles()[std::size_t(*choose_profile(model, mib, 0))].name; };
  EXPECT_EQ(chosen(0), "1g.18gb");
  EXPECT_EQ(chosen(8192), "1g.8gb");
  EXPECT_EQ(chosen(8193), "1g.18gb");
}

}  // namespace
}  // namespace smartmig
