#include "live/energy/power_fit.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"
#include "model/power.h"

namespace smartmig {
namespace {

constexpr const char* kModel = "h100-80gb-sxm";

TEST(PowerFit, FindsTheLineThatTheReadingsFollow) {
  PowerFit fit;
  EXPECT_FALSE(fit.line(kModel));
  for (int hour = 0; hour < 30; ++hour) {
    const int busy = hour % 8;
    const double watts = busy == 0 ? 90 : 120 + 40 * busy;
    fit.add(kModel, busy, 3600, 3600 * watts, 700);
  }
  const auto line = fit.line(kModel);
  ASSERT_TRUE(line);
  EXPECT_NEAR(line->idle_w, 90, 1e-9);
  EXPECT_NEAR(line->base_w, 120, 1e-6);
  EXPECT_NEAR(line->per_slice_w, 40, 1e-6);
  EXPECT_EQ(line->cap_w, 700);
  EXPECT_TRUE(line->ready);
  const auto power = PowerModel::named(line->power_name(), **Catalog::builtin().find(kModel));
  ASSERT_TRUE(power) << power.error().what;
  EXPECT_NEAR(power->watts(3, 3 * 40.0), 240, 0.1);
}

TEST(PowerFit, IsReadyAfterADayOfReadingsWithIdleAndBusyTimes) {
  PowerFit fit;
  fit.add(kModel, 2, 80'000, 80'000 * 200.0, 700);
  EXPECT_FALSE(fit.line(kModel));  // never seen idle
  fit.add(kModel, 0, 500, 500 * 90.0, 700);
  ASSERT_TRUE(fit.line(kModel));
  EXPECT_FALSE(fit.line(kModel)->ready);
  fit.add(kModel, 0, 6'000, 6'000 * 90.0, 700);
  EXPECT_TRUE(fit.line(kModel)->ready);
  EXPECT_NEAR(fit.line(kModel)->base_w, 90, 1e-9);  // one number of busy slices: the line starts at idle
  EXPECT_NEAR(fit.line(kModel)->per_slice_w, 55, 1e-9);
}

TEST(PowerFit, LeavesOutWhatIsNoReading) {
  PowerFit fit;
  fit.add(kModel, -1, 10, 10, 700);
  fit.add(kModel, 1, 0, 10, 700);
  fit.add(kModel, 1, -5, 10, 700);
  fit.add(kModel, 1, 10, -10, 700);
  fit.add(kModel, 1, 1, 1e9, 700);
  EXPECT_TRUE(fit.models().empty());
}

TEST(PowerFit, IsKeptAndRefusesWhatItCannotRead) {
  PowerFit fit;
  fit.add(kModel, 0, 700, 63'000, 700);
  fit.add(kModel, 3, 90'000, 90'000 * 300.0, 700);
  const auto again = PowerFit::parse("f", fit.text());
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->text(), fit.text());
  EXPECT_EQ(again->line(kModel)->power_name(), fit.line(kModel)->power_name());
  for (const char* bad : {"", "[]", "{\"m\":3}", "{\"m\":{\"cap_w\":-1,\"readings\":[]}}",
                          "{\"m\":{\"cap_w\":1,\"readings\":{}}}", "{\"m\":{\"cap_w\":1,\"readings\":[3]}}"})
    EXPECT_FALSE(PowerFit::parse("f", bad)) << bad;
}

}  // namespace
}  // namespace smartmig
