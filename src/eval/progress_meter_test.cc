#include "eval/progress_meter.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

ProgressMeter meter(const std::string& pattern = "") { return std::move(ProgressMeter::make(pattern).value()); }

TEST(ProgressMeter, ReadsRatesWithTheirUnit) {
  ProgressMeter m = meter();
  m.feed(0, "epoch 1: 1.0 it/s\nepoch 1: 12.0 it/s\nepoch 1: 12.4 it/s\n");
  const auto speed = m.speed();
  ASSERT_TRUE(speed);
  EXPECT_DOUBLE_EQ(speed->per_s, 12.2) << "the first third is warm-up";
  EXPECT_EQ(speed->unit, "it/s");
  EXPECT_EQ(speed->readings, 3u);
}

TEST(ProgressMeter, ReadsProgressBarsAndSecondsPerStep) {
  ProgressMeter m = meter();
  for (int i = 0; i < 9; ++i) m.feed(i, "\r 12%|###  | 12/100 [00:06<00:44,  2.00s/it]");
  m.finish(9);
  const auto speed = m.speed();
  ASSERT_TRUE(speed);
  EXPECT_DOUBLE_EQ(speed->per_s, 0.5);
  ProgressMeter samples = meter();
  samples.feed(0, "throughput 1.5e3 Samples/sec\n");
  ASSERT_TRUE(samples.speed());
  EXPECT_DOUBLE_EQ(samples.speed()->per_s, 1500);
  EXPECT_EQ(samples.speed()->unit, "samples/s");
}

TEST(ProgressMeter, CountsStepsByWhenTheyCame) {
  ProgressMeter m = meter();
  m.feed(10, "loading\n");
  m.feed(20, "Step 10/100 loss 3.1\n");
  m.feed(25, "Step 3");
  m.feed(25, "0/100 loss 2.9\n");
  m.feed(30, "Step 60/100 loss 2.9\n");
  const auto speed = m.speed();
  ASSERT_TRUE(speed);
  EXPECT_DOUBLE_EQ(speed->per_s, 5) << "50 steps in 10 s; what came before is launch";
  EXPECT_EQ(speed->unit, "steps/s");
  EXPECT_EQ(speed->total, 100);
}

TEST(ProgressMeter, CountsAnewWhereACountFalls) {
  ProgressMeter m = meter();
  m.feed(0, "step 1/10\n");
  m.feed(1, "step 9/10\n");
  m.feed(100, "step 1/10\n");
  m.feed(104, "step 9/10\n");
  ASSERT_TRUE(m.speed());
  EXPECT_DOUBLE_EQ(m.speed()->per_s, 2);
}

TEST(ProgressMeter, SaysNothingWhereNothingIsSaid) {
  ProgressMeter m = meter();
  m.feed(0, "12 items, ratio 3/4, 100 MB/s, took 3 s\nstep 3/10\n");
  m.finish(1);
  EXPECT_FALSE(m.speed()) << "one count has no length, and bytes are not steps";
}

TEST(ProgressMeter, TakesAPatternOfOnesOwn) {
  ProgressMeter rate = meter("speed=([0-9.]+)");
  rate.feed(0, "speed=4 x\nspeed=6 x\nspeed=8 x\n");
  ASSERT_TRUE(rate.speed());
  EXPECT_DOUBLE_EQ(rate.speed()->per_s, 7);
  EXPECT_EQ(rate.speed()->unit, "work/s");
  ProgressMeter count = meter("([0-9]+) von ([0-9]+)");
  count.feed(0, "0 von 8\n");
  count.feed(2, "8 von 8\n");
  ASSERT_TRUE(count.speed());
  EXPECT_DOUBLE_EQ(count.speed()->per_s, 4);
  EXPECT_FALSE(ProgressMeter::make("no group"));
  EXPECT_FALSE(ProgressMeter::make("([0-9]+"));
  EXPECT_NE(ProgressMeter::make("(a)(b)(c)").error().what.find("3 groups"), std::string::npos);
}

TEST(ProgressMeter, SurvivesALineWithoutAnEnd) {
  ProgressMeter m = meter();
  m.feed(0, "7 it/s ");
  const std::string piece(1 << 16, 'x');
  for (int i = 0; i < 64; ++i) m.feed(i, piece);
  m.feed(65, " 9 it/s\n8 it/s\n");
  ASSERT_TRUE(m.speed());
  EXPECT_EQ(m.speed()->readings, 2u) << "what stands within 2 KiB, and the line after";
}

}  // namespace
}  // namespace smartmig
