#include "mig/shape.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"

namespace smartmig {
namespace {

const GpuModel& a100() { return **Catalog::builtin().find("a100-40gb"); }
const GpuModel& a30() { return **Catalog::builtin().find("a30-24gb"); }
const GpuModel& rtx() { return **Catalog::builtin().find("rtx-pro-6000-blackwell-96gb"); }

std::string shape(const GpuModel& model, std::string_view text) {
  const auto parsed = parse_shape(model, text);
  return parsed ? to_string(model, *parsed) : "error: " + parsed.error().what;
}
std::string layout(const GpuModel& model, std::string_view text) {
  const auto parsed = parse_layout(model, text);
  return parsed ? to_string(model, *parsed) : "error: " + parsed.error().what;
}
#define EXPECT_HAS(text, words) EXPECT_NE(std::string(text).find(words), std::string::npos) << (text)

TEST(Shape, ParsesWhatPeopleWrite) {
  EXPECT_EQ(shape(a100(), "4g+2g+1g"), "4g.20gb+2g.10gb+1g.5gb");
  EXPECT_EQ(shape(a100(), "1g.10gb + 4G.20GB"), "4g.20gb+1g.10gb");
  EXPECT_EQ(shape(a100(), "1g*7"), "1g.5gb*7");
  EXPECT_EQ(shape(a100(), "1gx7"), "1g.5gb*7");
  EXPECT_EQ(shape(a100(), "1GX7"), "1g.5gb*7");
  EXPECT_EQ(shape(a100(), "3x2g+1g"), "2g.10gb*3+1g.5gb");
  EXPECT_EQ(shape(a100(), "1g.5gb+me+1g*2"), "1g.5gb*2+1g.5gb+me");
  EXPECT_EQ(shape(a100(), "1g+me"), "1g.5gb+me");
  EXPECT_EQ(shape(rtx(), "1g+gfx*2+2g"), "2g.48gb+1g.24gb+gfx*2");
  EXPECT_EQ(shape(rtx(), "1g.24gb+gfxx2"), "1g.24gb+gfx*2");
  EXPECT_EQ(shape(rtx(), "1g-me*2+2g+me.all"), "2g.48gb+me.all+1g.24gb-me*2");
  EXPECT_EQ(shape(a100(), "empty"), "empty");
}

TEST(Shape, RefusesWithAReason) {
  EXPECT_HAS(shape(a100(), ""), "the shape is empty");
  EXPECT_HAS(shape(a100(), "5g"), "no profile '5g'");
  EXPECT_HAS(shape(a100(), "3g.20g"), "did you mean 3g.20gb?");
  EXPECT_HAS(shape(a100(), "4g+4g"), "at most 1 of 4g.20gb");
  EXPECT_HAS(shape(a100(), "7g+1g"), "needs 9 memory slices of 8");
  EXPECT_HAS(shape(a100(), "1g.10gb*4+1g"), "needs 9 memory slices of 8");
  EXPECT_HAS(shape(a100(), "3g+1g*4+1g+me"), "needs 9");
  EXPECT_HAS(shape(a100(), "4g+2g+1g+1g"), "legal starts of these profiles overlap");  // slice 7 takes no 1g
  EXPECT_HAS(shape(a100(), "2g*3+2g"), "at most 3");
  EXPECT_HAS(shape(a30(), "1g+me+2g+me"), "at most one +me");
  EXPECT_HAS(shape(rtx(), "1g+me.all+1g"), "+me.all");
  EXPECT_HAS(shape(a100(), "1g*0"), "the count must be 1 to 15");
  EXPECT_HAS(shape(a100(), "1g*99999999999999999999"), "the count must be 1 to 15");
  EXPECT_HAS(shape(a100(), "1g*15+1g*15"), "more than 15");
  EXPECT_HAS(shape(a100(), "1g++2g"), "missing");
  EXPECT_HAS(shape(a100(), "1g@0"), "has a start");
  EXPECT_HAS(shape(a100(), "NaN"), "no profile 'NaN'");
}

TEST(Shape, PaperNumbers) {
  const char* expected[] = {"7g.40gb",
                            "4g.20gb+3g.20gb",
                            "4g.20gb+2g.10gb+1g.10gb",
                            "4g.20gb+1g.10gb+1g.5gb*2",
                            "3g.20gb*2",
                            "3g.20gb+2g.10gb*2",
                            "3g.20gb+2g.10gb+1g.5gb*2",
                            "3g.20gb+1g.5gb*4",
                            "2g.10gb*3+1g.10gb",
                            "2g.10gb*2+1g.10gb+1g.5gb*2",
                            "2g.10gb+1g.10gb+1g.5gb*4",
                            "1g.10gb+1g.5gb*6"};
  const auto shapes = paper_shapes(a100());
  ASSERT_EQ(shapes.size(), 12u);
  const ShapeTable table(a100(), a100().schedulable_profiles());
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(shape(a100(), std::to_string(i + 1)), expected[i]);
    const auto placed = table.realise(shapes[std::size_t(i)], {}, {});
    ASSERT_TRUE(placed);
    EXPECT_EQ(a100().memory_mask(*placed), 0xFFu) << expected[i];  // the papers' layouts use all memory
    EXPECT_EQ(a100().compute_used(*placed), i == 4 ? 6 : 7) << expected[i];
  }
  EXPECT_HAS(shape(a100(), "13"), "from 1 to 12");
  EXPECT_HAS(shape(a100(), "0"), "from 1 to 12");
  EXPECT_HAS(shape(a30(), "1"), "7-slice family");
  EXPECT_TRUE(paper_shapes(rtx()).empty());
  for (const auto& model : Catalog::builtin().models())
    EXPECT_EQ(paper_shapes(*model).size(), model->compute_slices() == 7 ? 12u : 0u);
}

TEST(Layout, ParsesAndRefuses) {
  EXPECT_EQ(layout(a100(), "1g@6+4g@0+2g@4"), "4g.20gb@0+2g.10gb@4+1g.5gb@6");
  EXPECT_EQ(layout(a100(), " 1g.10gb@6 "), "1g.10gb@6");
  EXPECT_EQ(layout(a100(), "1g+me@0+3g@4"), "1g.5gb+me@0+3g.20gb@4");
  EXPECT_EQ(layout(a100(), "empty"), "empty");
  EXPECT_HAS(layout(a100(), ""), "the layout is empty");
  EXPECT_HAS(layout(a100(), "4g"), "no start");
  EXPECT_HAS(layout(a100(), "2g@6"), "2g.10gb of a100-40gb may start at 0, 2, 4");
  EXPECT_HAS(layout(a100(), "1g@-1"), "may start at");
  EXPECT_HAS(layout(a100(), "1g@nan"), "may start at");
  EXPECT_HAS(layout(a100(), "1g@99999999999999"), "may start at");
  EXPECT_HAS(layout(a100(), "3g@4+1g@6"), "1g.5gb@6 overlaps 3g.20gb@4");
  EXPECT_HAS(layout(a100(), "1g+me@0+1g+me@1"), "cannot exist with");
}

TEST(ShapeTable, KnowsTheA100) {
  const ShapeTable plain(a100(), a100().plain_profiles()), doubled(a100(), a100().schedulable_profiles());
  EXPECT_EQ(plain.shapes().size(), 38u);
  EXPECT_EQ(plain.maximal_shapes().size(), 14u);
  EXPECT_EQ(doubled.maximal_shapes().size(), 38u);
  EXPECT_EQ(ShapeTable(a30(), a30().plain_profiles()).maximal_shapes().size(), 4u);
  EXPECT_EQ(ShapeTable(rtx(), rtx().plain_profiles()).maximal_shapes().size(), 4u);
  EXPECT_EQ(plain.layouts_of(*parse_shape(a100(), "3g+2g+1g+1g")).size(), 2u);  // only 3g@4 leaves room
  EXPECT_TRUE(plain.layouts_of(*parse_shape(a100(), "1g.10gb")).empty());       // not among the table's profiles
  EXPECT_FALSE(plain.realise(*parse_shape(a100(), "1g.10gb"), {}, {}));
}

TEST(ShapeTable, RealiseKeepsBusyThenCurrent) {
  const ShapeTable table(a100(), a100().plain_profiles());
  const Shape target = *parse_shape(a100(), "3g+2g+2g");
  const auto parse = [](std::string_view text) { return *parse_layout(a100(), text); };
  EXPECT_EQ(to_string(a100(), *table.realise(target, parse("3g@0+3g@4"), parse("3g@4"))),
            "2g.10gb@0+2g.10gb@2+3g.20gb@4");
  EXPECT_EQ(to_string(a100(), *table.realise(*parse_shape(a100(), "2g"), parse("2g@4+2g@2"), {})), "2g.10gb@2");
  EXPECT_EQ(to_string(a100(), *table.realise(*parse_shape(a100(), "2g"), parse("2g@4+2g@2"), parse("2g@4"))),
            "2g.10gb@4");
}

}  // namespace
}  // namespace smartmig
