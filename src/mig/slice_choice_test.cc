#include "mig/slice_choice.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"
#include "mig/fragmentation.h"

namespace smartmig {
namespace {

struct SliceChoiceTest : ::testing::Test {
  std::shared_ptr<const GpuModel> model = *Catalog::builtin().find("a100-40gb");
  SliceChoice choice{*model};
  SliceRoom room(const char* layout, const char* taken) const {
    return {*parse_layout(*model, layout), *parse_layout(*model, layout), *parse_layout(*model, taken)};
  }
  std::optional<SliceOffer> best(const SliceRoom& room, const char* profile) const {
    return choice.best(room, model->find_profile(profile));
  }
  std::string words(const std::optional<SliceOffer>& offer) const {
    if (!offer) return "none";
    constexpr const char* kMeans[] = {"reuse", "under way", "create", "make way"};
    return fmt::format("{} at {}: {}", kMeans[offer->means], model->placement(offer->where).start,
                       to_string(*model, offer->target));
  }
};

TEST_F(SliceChoiceTest, AnIdleSliceIsReusedBeforeAnythingIsMade) {
  EXPECT_EQ(words(best(room("3g@0+2g@4", "3g@0"), "2g")), "reuse at 4: 3g.20gb@0+2g.10gb@4");
  EXPECT_EQ(words(best(room("empty", "empty"), "4g")), "create at 0: 4g.20gb@0");
}

TEST_F(SliceChoiceTest, ASmallSliceGoesWhereItSpoilsLeast) {
  EXPECT_EQ(words(best(room("empty", "empty"), "1g")), "create at 6: 1g.5gb@6");
  const auto on_whole = best(room("empty", "empty"), "1g"), beside = best(room("4g@0", "4g@0"), "1g");
  EXPECT_TRUE(better(*beside, *on_whole)) << "a whole GPU stays whole";
  EXPECT_FALSE(better(*on_whole, *beside));
}

TEST_F(SliceChoiceTest, IdleNeighboursBecomeOneAndIdleSlicesSmaller) {
  EXPECT_EQ(words(best(room("1g@0+1g@1+2g@2+3g@4", "3g@4"), "4g")), "make way at 0: 4g.20gb@0+3g.20gb@4");
  EXPECT_EQ(best(room("4g@0+3g@4", "3g@4"), "2g")->means, SliceOffer::kMakeWay);
}

TEST_F(SliceChoiceTest, NothingWhereAllIsTakenOrChangingOrOfTooStrongMeans) {
  EXPECT_FALSE(best(room("7g@0", "7g@0"), "3g"));
  SliceRoom changing = room("3g@0", "empty");
  changing.target = *parse_layout(*model, "3g@0+2g@4");
  changing.changing = true;
  EXPECT_EQ(words(best(changing, "2g")), "under way at 4: 3g.20gb@0+2g.10gb@4");
  EXPECT_FALSE(best(changing, "4g"));
  EXPECT_FALSE(choice.best(room("empty", "empty"), model->find_profile("1g"), SliceOffer::kUnderWay));
}

TEST_F(SliceChoiceTest, FragmentationSaysWhatWouldHealIt) {
  const FragmentationTable table(*model);
  const Fragmentation f = table.of(*parse_layout(*model, "1g@0"));
  EXPECT_GT(f.score, 0.3);
  EXPECT_EQ(f.largest_free, 3);
  EXPECT_EQ(f.largest_if_packed, 4);
  ASSERT_EQ(f.moves.size(), 1u);
  EXPECT_EQ(model->placement(f.moves[0].second).start, 6);
  EXPECT_EQ(table.of(*parse_layout(*model, "1g@6")).score, 0);
}

}  // namespace
}  // namespace smartmig
