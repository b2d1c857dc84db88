#include "queue/config/price_curve.h"

#include <gtest/gtest.h>

#include "queue/config/settings_file.h"

namespace smartmig {
namespace {

TEST(PriceCurve, HoldsFromItsHourOn) {
  const auto curve = PriceCurve::parse("0:0.18 7:0.3  22:0.2");
  ASSERT_TRUE(curve) << curve.error().what;
  EXPECT_EQ(curve->at_hour(0), 0.18);
  EXPECT_EQ(curve->at_hour(6), 0.18);
  EXPECT_EQ(curve->at_hour(7), 0.3);
  EXPECT_EQ(curve->at_hour(23), 0.2);
  EXPECT_NEAR(curve->mean(), (7 * 0.18 + 15 * 0.3 + 2 * 0.2) / 24, 1e-12);
  EXPECT_EQ(curve->text(), "0:0.18 7:0.3 22:0.2");
  EXPECT_TRUE(PriceCurve::parse("")->empty());
  for (const char* wrong : {"7:0.3", "0:0.1 0:0.2", "0:0.1 24:0.2", "0:-1", "0", "x:1", "0:0.2 9:0.1 8:0.1"})
    EXPECT_FALSE(PriceCurve::parse(wrong)) << wrong;
}

TEST(PriceCurve, JobsArePricedByItsMeanWhereThereIsNoOtherPrice) {
  auto settings = parse_settings("f", "[prices]\nenergy_by_hour = \"0:0.1 12:0.3\"\n");
  ASSERT_TRUE(settings) << settings.error().what;
  ASSERT_TRUE(settings->priced());
  EXPECT_NEAR(settings->priced()->energy_per_kwh, 0.2, 1e-12);
  settings->prices.energy_per_kwh = 0.25;
  EXPECT_EQ(settings->priced()->energy_per_kwh, 0.25);
  EXPECT_FALSE(parse_settings("f", "[prices]\nenergy_by_hour = \"noon\"\n"));
}

}  // namespace
}  // namespace smartmig
