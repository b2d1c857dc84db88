#include "research/learn/train_log.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smartmig {
namespace {

TEST(TrainLog, LeavesOutWhatWasNotMeasured) {
  UpdateReport report;
  report.env_steps = 100;
  report.agent_steps = 800;
  report.update = 1;
  const LogRow row = log_row(report, nullptr, 2, 0, 0);
  const std::string header = csv_header(row), line = csv_line(row), json = json_line(row);
  EXPECT_EQ(std::count(header.begin(), header.end(), ','), std::count(line.begin(), line.end(), ','));
  EXPECT_NE(header.find("rollout/ep_rew_mean"), std::string::npos);
  EXPECT_EQ(json.find("eval/et"), std::string::npos);
  EXPECT_NE(json.find("\"charts/SPS\": 50,"), std::string::npos);
  EXPECT_NE(json.find("\"charts/agent_SPS\": 400,"), std::string::npos);
}

}  // namespace
}  // namespace smartmig
