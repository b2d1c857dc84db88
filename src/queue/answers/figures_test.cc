#include "queue/answers/figures.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

TEST(Figures, QuantilesOfTheLastDecisions) {
  Figures figures(UnixTime{});
  EXPECT_EQ(figures.decision_quantile_s(0.5), 0);
  for (int i = 1; i <= 100; ++i) figures.decided(i);
  EXPECT_EQ(figures.decision_quantile_s(0.5), 51);
  EXPECT_EQ(figures.decision_quantile_s(0.99), 100);
  for (int i = 0; i < 8192; ++i) figures.decided(0.5);
  EXPECT_EQ(figures.decision_quantile_s(0.99), 0.5) << "the first ones are forgotten";
  EXPECT_EQ(figures.counts.decisions, 8292u);
}

TEST(Figures, ReconfigurationsByKindAndResult) {
  Figures figures(UnixTime{});
  figures.reconfigured(true, true, 0.2);
  figures.reconfigured(false, false, 1);
  EXPECT_EQ(figures.reconfigurations().at({"create", "ok"}), 1u);
  EXPECT_EQ(figures.reconfigurations().at({"destroy", "failed"}), 1u);
  EXPECT_DOUBLE_EQ(figures.reconfiguration_s().sum, 1.2);
}

}  // namespace
}  // namespace smartmig
