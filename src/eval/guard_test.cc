#include "eval/guard.h"

#include <gtest/gtest.h>

#include "eval/experiment.h"
#include "model/fixture.h"

namespace smartmig {
namespace {

Setting setting_of(const char* workload) {
  Setting setting;
  setting.platform = fixture::platform("8xa100-40gb");
  setting.workload = workload;
  return setting;
}

double et_of(const Setting& setting, const char* policy, const Day& day) {
  const auto summary = run_day(setting, contender_of(policy, {}), day);
  EXPECT_TRUE(summary) << summary.error().what;
  return summary ? summary->et : 0;
}

TEST(Guard, TakesTheWheelFromAPolicyThatIsFarBehind) {
  // Whole GPUs at 20x drown; the searched partition does not, and the guard sees that within hours.
  const Setting setting = setting_of("paper:20x");
  const auto day = make_day(setting, 11);
  ASSERT_TRUE(day);
  const double alone = et_of(setting, "none+fifo", *day), watched = et_of(setting, "guard(none+fifo)", *day);
  EXPECT_LT(watched, 0.5 * alone);
}

TEST(Guard, LeavesAGoodPolicyAlone) {
  const Setting setting = setting_of("paper:16x");
  const auto day = make_day(setting, 12);
  ASSERT_TRUE(day);
  EXPECT_DOUBLE_EQ(et_of(setting, "planner", *day), et_of(setting, "guard(planner)", *day));
}

TEST(Guard, RefusesWhatItCannotWatch) {
  const auto platform = fixture::platform("8xa100-40gb");
  const auto open = make_any_policy("guard(planner", {}, {}, platform);
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().what.find("not closed"), std::string::npos);
  const auto unknown = make_any_policy("guard(plannner)", {}, {}, platform);
  EXPECT_FALSE(unknown);
}

}  // namespace
}  // namespace smartmig
