#include "learn/train_log.h"

#include <gtest/gtest.h>

#include <cmath>

#include "learn/event_file.h"

namespace smartmig {
namespace {

TEST(EventFile, ChecksumsAreCrc32c) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);            // the check value of CRC-32C
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720, B.4
}

TEST(EventFile, RecordsAreFramedAndHoldTheirValues) {
  const std::string record = scalar_event(1.5, 300, {{"eval/et", 0.5}});
  std::uint64_t length = 0;
  for (int i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(record[std::size_t(i)]);
  ASSERT_EQ(record.size(), length + 16);
  const std::string payload = record.substr(12, length);
  // wall_time 1.5, step 300, summary { value { tag "eval/et" simple_value 0.5 } }
  const std::string want = std::string("\x09\0\0\0\0\0\0\xF8\x3F", 9) + "\x10\xAC\x02" + "\x2A\x10" + "\x0A\x0E" +
                           "\x0A\x07" + "eval/et" + std::string("\x15\0\0\0\x3F", 5);
  EXPECT_EQ(payload, want);
  EXPECT_NE(event_file_header(0).find("brain.Event:2"), std::string::npos);
}

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
