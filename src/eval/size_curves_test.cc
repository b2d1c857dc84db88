#include "eval/size_curves.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smartmig {
namespace {

double weight_of(const CurveSet& set) {
  double sum = 0;
  for (const WeightedCurve& one : set.curves()) sum += std::exp(one.log_weight);
  return sum;
}

TEST(SizeCurves, LinesBetweenSizes) {
  const SizeCurve half = power_curve(0.5);
  for (int k = 1; k <= 14; ++k) EXPECT_NEAR(half.at(std::log(k / 7.0)), -0.5 * std::log(k / 7.0), 1e-12) << k;
  EXPECT_NEAR(half.at(std::log(0.05)), -0.5 * std::log(0.05), 1e-12) << "beyond the ends";
}

TEST(SizeCurves, AKindOfTheTable) {
  const SizeCurve bert = curve_of_kind(SpeedTable::builtin(), "bert-train", "a100-40gb");
  EXPECT_NEAR(std::exp(bert.at(std::log(1 / 7.0))), 10.5 / 2.2, 1e-9);
  EXPECT_NEAR(std::exp(bert.at(std::log(3 / 7.0))), 10.5 / 5.8, 1e-9);
  EXPECT_DOUBLE_EQ(bert.at(0), 0);
  const double five = bert.at(std::log(5 / 7.0));
  EXPECT_LT(five, bert.at(std::log(4 / 7.0)));
  EXPECT_GT(five, 0);
}

TEST(SizeCurves, LaunchFlattens) {
  const SizeCurve curve = with_launch(power_curve(1), 0.5);
  EXPECT_NEAR(std::exp(curve.at(std::log(1 / 7.0))), 0.5 + 0.5 * 7, 1e-9);
  EXPECT_NEAR(curve.at(0), 0, 1e-12);
}

TEST(SizeCurves, WeightsSumToOne) {
  const CurveSet& all = CurveSet::builtin();
  EXPECT_GT(all.curves().size(), 500u);
  EXPECT_NEAR(weight_of(all), 1, 1e-9);
  const WeightedCurve own[] = {{power_curve(0.9), 0, 0, {}}, {power_curve(0.1), 0, 0, {}}};
  EXPECT_NEAR(weight_of(all.with_site(own)), 1, 1e-9);
  EXPECT_NEAR(weight_of(all.leaning_to("bert-train")), 1, 1e-9);
  EXPECT_EQ(all.leaning_to("nothing").curves().size(), all.curves().size());
  double of_bert = 0;
  const CurveSet told = all.leaning_to("bert-train");
  for (const WeightedCurve& one : told.curves())
    if (one.kind == "bert-train") of_bert += std::exp(one.log_weight);
  EXPECT_NEAR(of_bert, 0.8, 1e-9);
  const CurveSet without = CurveSet::of_table(SpeedTable::builtin(), [](std::string_view) { return true; });
  EXPECT_NEAR(weight_of(without), 1, 1e-9);
}

}  // namespace
}  // namespace smartmig
