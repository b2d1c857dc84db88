#include "queue/learning/forecast_scores.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

JobRecord job_ended(std::uint64_t id, double started_s, double ended_s) {
  JobRecord job;
  job.id = QueueId(id);
  job.times.first_started = from_unix_us(std::int64_t(started_s * 1e6));
  job.times.ended = from_unix_us(std::int64_t(ended_s * 1e6));
  return job;
}

TEST(ForecastScores, CountsWhatHeldAndWeighsMissesTenfold) {
  ForecastScores calibration;
  EXPECT_EQ(calibration.figures(ForecastScores::kRun).count, 0u);
  calibration.happened(ForecastScores::kRun, {80, 100, 120}, 100);
  calibration.happened(ForecastScores::kRun, {80, 100, 120}, 125);
  const ForecastScores::Figures run = calibration.figures(ForecastScores::kRun);
  EXPECT_EQ(run.count, 2u);
  EXPECT_DOUBLE_EQ(run.held, 0.5);
  EXPECT_DOUBLE_EQ(run.width_s, 40);
  EXPECT_DOUBLE_EQ(run.score_s, 40 + 25);
  EXPECT_NEAR(run.off, std::sqrt(1.25), 1e-9);
}

TEST(ForecastScores, TheFirstForecastOfAJobIsScoredWhenItHasEnded) {
  ForecastScores calibration;
  calibration.gave(QueueId(1), {1000, ForecastScores::Forecast{0, 10, 20}, {50, 100, 200}});
  calibration.gave(QueueId(1), {1000, ForecastScores::Forecast{500, 510, 520}, {500, 510, 520}});
  calibration.gave(QueueId(2), {1000, {}, {50, 100, 200}});
  calibration.gave(QueueId(3), {1000, {}, {50, 100, 200}});
  calibration.ended_well(job_ended(1, 1005, 1100));
  calibration.ended_well(job_ended(2, 900, 1201));
  calibration.forget(QueueId(3));
  calibration.ended_well(job_ended(3, 900, 1201));
  EXPECT_EQ(calibration.figures(ForecastScores::kStart).count, 1u) << "one ran already";
  EXPECT_EQ(calibration.figures(ForecastScores::kStart).held, 1);
  EXPECT_EQ(calibration.figures(ForecastScores::kEnd).count, 2u);
  EXPECT_EQ(calibration.figures(ForecastScores::kEnd).held, 0.5);
}

TEST(ForecastScores, KeepsTheLastAndIsReadAsItWasWritten) {
  ForecastScores calibration;
  for (int i = 0; i < 600; ++i) calibration.happened(ForecastScores::kEnd, {80, 100, 120}, i < 100 ? 0 : 100);
  calibration.gave(QueueId(7), {1e9, ForecastScores::Forecast{0, 10, 20}, {50, 100, 200}});
  calibration.gave(QueueId(8), {1e9, {}, {50, 100, 200}});
  EXPECT_EQ(calibration.figures(ForecastScores::kEnd).count, 500u);
  EXPECT_EQ(calibration.figures(ForecastScores::kEnd).held, 1);
  auto again = ForecastScores::parse("stored", calibration.to_json());
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->to_json(), calibration.to_json());
  again->ended_well(job_ended(7, 1e9 + 5, 1e9 + 60));
  again->ended_well(job_ended(8, 1e9 + 5, 1e9 + 60));
  EXPECT_EQ(again->figures(ForecastScores::kStart).count, 1u);
  EXPECT_FALSE(
      ForecastScores::parse("stored", R"({"smartmig_forecasts":1,"given":[],"run":[[3,2,1,0]],"start":[],"end":[]})"));
}

}  // namespace
}  // namespace smartmig
