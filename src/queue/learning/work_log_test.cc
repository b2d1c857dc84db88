#include "queue/learning/work_log.h"

#include <gtest/gtest.h>

#include <fstream>

namespace smartmig {
namespace {

TEST(WorkLog, ReadsWhatIsNewAndALogThatWasBegunAnew) {
  const std::string path = testing::TempDir() + "smartmig-work.log";
  std::ofstream(path, std::ios::trunc) << "step 1/90 seq_len 300\nstep 2/90 seq_len 100\nstep 3/";
  WorkLog log;
  EXPECT_EQ(log.read(path).size, 300);
  EXPECT_EQ(log.read(path).done, 2) << "the third line has no end yet";
  std::ofstream(path, std::ios::app) << "90 seq_len 50\n";
  EXPECT_EQ(log.read(path).done, 3);
  EXPECT_EQ(log.read(path).size, 50) << "of what is new";
  std::ofstream(path, std::ios::trunc) << "step 4/90\n";
  EXPECT_EQ(log.read(path).done, 4);
  EXPECT_EQ(log.read("/nonexistent/log").done, 4);
}

TEST(WorkLog, ABarThatIsDrawnOverItself) {
  const std::string path = testing::TempDir() + "smartmig-bar.log";
  std::ofstream(path, std::ios::trunc) << "  1%| | 1/100 [00:01]\r  2%| | 2/100 [00:02]\r";
  WorkLog log;
  EXPECT_EQ(log.read(path).done, 2);
  EXPECT_EQ(log.read(path).of, 100);
}

TEST(WorkLog, OptionsOfTheCommand) {
  WorkLog log;
  log.set_command({"python3", "run.py", "--max-new-tokens", "512", "--max_steps=90", "--seed"});
  EXPECT_EQ(log.read("").size_max, 512);
  EXPECT_EQ(log.read("").of, 90);
}

}  // namespace
}  // namespace smartmig
