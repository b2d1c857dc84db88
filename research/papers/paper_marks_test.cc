#include "research/papers/paper_marks.h"

#include <gtest/gtest.h>

#include <limits>

namespace smartmig {
namespace {

TEST(PaperMarks, EachKindOfValueHasItsOwnTolerance) {
  EXPECT_TRUE(is_met(energy_claim("x", 2.0, 2.09)));
  EXPECT_FALSE(is_met(energy_claim("x", 2.0, 2.11)));
  EXPECT_TRUE(is_met(tardiness_claim("x", 0, 0.09))) << "0.1 min is near nothing";
  EXPECT_FALSE(is_met(tardiness_claim("x", 0, 0.2)));
  EXPECT_TRUE(is_met(tardiness_claim("x", 4, 4.9)));
  EXPECT_FALSE(is_met(tardiness_claim("x", 4, 5.1)));
  EXPECT_TRUE(is_met(change_claim("x", -31, -60))) << "more than the printed gain";
  EXPECT_FALSE(is_met(change_claim("x", -31, -20)));
  EXPECT_TRUE(is_met(ratio_claim("x", 6.2, 7))) << "faster than printed";
  EXPECT_FALSE(is_met(ratio_claim("x", 6.2, 5.8)));
  EXPECT_FALSE(is_met(share_claim("x", 29.3, std::numeric_limits<double>::quiet_NaN()))) << "no value meets nothing";
}

PaperSection with(std::vector<PaperClaim> claims) {
  PaperSection section;
  section.claims = std::move(claims);
  mark_section(section);
  return section;
}

TEST(PaperMarks, AFigureIsReproducedIfOneReadingMeetsAll) {
  PaperClaim tight = share_claim("x", 10, 40), loose = share_claim("x", 10, 12), other = share_claim("y", 10, 40);
  tight.reading = "tight", loose.reading = other.reading = "loose";
  EXPECT_EQ(with({tight, loose}).mark, kMarkReproduced);
  EXPECT_EQ(with({tight, loose}).met, "1 of 1, loose");
  EXPECT_EQ(with({tight, loose, other}).mark, kMarkDiffers);
  EXPECT_EQ(with({tight, loose, other}).met, "1 of 2, loose");
}

TEST(PaperMarks, WithoutValuesThereIsNothingToCompare) {
  EXPECT_EQ(with({}).mark, kMarkNotPossible);
  PaperSection ours, absent;
  ours.ours = true;
  absent.mark = kMarkNotBuilt;
  mark_section(ours);
  mark_section(absent);
  EXPECT_EQ(ours.mark, kMarkOurs);
  EXPECT_EQ(absent.mark, kMarkNotBuilt) << "a mark that is given stays";
}

}  // namespace
}  // namespace smartmig
