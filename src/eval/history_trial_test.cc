#include "eval/history_trial.h"

#include <gtest/gtest.h>

#include "sim/sacct.h"

namespace smartmig {
namespace {

// Ten jobs of an hour, one every 20 minutes.
HistoryQuestion hourly_history(int gpus) {
  std::string text = "JobIDRaw|JobName|Submit|Start|ElapsedRaw|State|AllocTRES\n";
  for (int i = 0; i < 10; ++i)
    text += fmt::format("{}|bert-train|2026-11-17T{:02}:{:02}:00|None|3600|COMPLETED|gres/gpu=1\n", i + 1, i / 3,
                        20 * (i % 3));
  HistoryQuestion question;
  LoadOptions options;
  options.missing_slack = SlackRange{1, 1, false};
  question.workload = std::make_shared<Workload>(*read_sacct(LineReader::over("h", text), options));
  question.setting.platform = std::make_shared<Platform>(*Platform::parse(fmt::format("{}xa100-40gb", gpus)));
  question.setting.cost = *CostModel::parse("hardware");
  question.contenders = {contender_of("none+fifo", {}), contender_of("best", {})};
  question.effort = 0.1;
  return question;
}

TEST(HistoryTrial, CountsTheFewestGpusThatKeepTheTarget) {
  HistoryQuestion question = hourly_history(6);
  question.bounds = false;
  const auto answer = try_history(question);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_DOUBLE_EQ(answer->target_min, 1);
  ASSERT_TRUE(answer->rows[0].gpus_needed.has_value());
  const int needed = *answer->rows[0].gpus_needed;
  EXPECT_EQ(needed, 3);
  EXPECT_LT(answer->rows[0].kwh_needed, answer->rows[0].whole.energy_kwh);
  // On one less the target is not kept; on so many it is.
  for (const int gpus : {needed - 1, needed}) {
    HistoryQuestion fewer = hourly_history(gpus);
    fewer.bounds = fewer.sizes = false;
    const auto there = try_history(fewer);
    ASSERT_TRUE(there) << there.error().what;
    EXPECT_EQ(there->rows[0].whole.mean_tardiness_min <= 1, gpus == needed) << gpus;
    EXPECT_FALSE(there->rows[0].gpus_needed.has_value());
  }
}

TEST(HistoryTrial, GrowsTheFleetAndGivesUp) {
  HistoryQuestion question = hourly_history(2);
  question.bounds = false;
  question.target_min = 0.5;
  const auto grown = try_history(question);
  ASSERT_TRUE(grown) << grown.error().what;
  EXPECT_EQ(grown->rows[0].gpus_needed, 3);
  HistoryQuestion alone = hourly_history(1);
  alone.bounds = false;
  alone.contenders = {contender_of("static[1g+1g+1g+1g+1g+1g+1g]+fifo", {})};  // 7 x 1g: never in time, however many
  alone.target_min = 0.5;
  const auto never = try_history(alone);
  ASSERT_TRUE(never) << never.error().what;
  EXPECT_FALSE(never->rows[0].gpus_needed.has_value()) << *never->rows[0].gpus_needed;
}

TEST(HistoryTrial, NoPolicyIsBelowTheBounds) {
  HistoryQuestion question = hourly_history(2);
  question.sizes = false;
  const auto answer = try_history(question);
  ASSERT_TRUE(answer) << answer.error().what;
  ASSERT_TRUE(answer->bounds.has_value());
  EXPECT_GT(answer->bounds->energy_wmin, 0);
  for (const HistoryRow& row : answer->rows) {
    EXPECT_GE(row.whole.energy_wmin, answer->bounds->energy_wmin) << row.label;
    EXPECT_GE(row.whole.mean_tardiness_min, answer->bounds->tardiness_min) << row.label;
  }
}

TEST(HistoryTrial, AMixedFleetIsNotCounted) {
  HistoryQuestion question = hourly_history(2);
  question.setting.platform = std::make_shared<Platform>(*Platform::parse("1xa100-40gb,1xa100-80gb"));
  question.bounds = false;
  const auto answer = try_history(question);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_FALSE(answer->sized);
  EXPECT_FALSE(answer->rows[0].gpus_needed.has_value());
}

}  // namespace
}  // namespace smartmig
