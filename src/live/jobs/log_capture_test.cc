#include "live/jobs/log_capture.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

class LogCaptureTest : public ::testing::Test {
 protected:
  LogCaptureTest() : directory_(::open(place_.path().c_str(), O_RDONLY | O_DIRECTORY)) {}
  ~LogCaptureTest() override { ::close(directory_); }
  std::string text(const std::string& name) const {
    const auto read = read_file(place_.path() + "/" + name);
    return read ? *read : "(no file)";
  }
  void put(const std::string& data) { log_.write(data.data(), data.size()); }

  TempDir place_;
  int directory_;
  LogCapture log_;
};

TEST_F(LogCaptureTest, KeepsTheEndInTwoSegments) {
  log_.open(directory_, 4096, 0);
  std::string all;
  for (int i = 0; i < 2000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    all += line;
    put(line);
  }
  log_.finish();
  const std::string last = text("log"), before = text("log.1");
  EXPECT_LE(last.size(), 4096u);
  EXPECT_EQ(before.size(), 4096u);
  EXPECT_TRUE(last.ends_with("line 1999\n"));
  // What is missing is missing before the first byte that is left, and is counted to the byte.
  const std::size_t note = before.find("dropped]\n") + 9;
  const std::string kept = before.substr(note) + last;
  EXPECT_TRUE(all.ends_with(kept)) << before.substr(0, 60);
  EXPECT_EQ(before.substr(0, note), "[smartmig: " + std::to_string(all.size() - kept.size()) + " bytes dropped]\n");
  EXPECT_EQ(log_.dropped(), all.size() - kept.size());
}

TEST_F(LogCaptureTest, OneHugeWriteWithoutALineEnd) {
  log_.open(directory_, 4096, 0);
  put(std::string(1'000'000, 'x'));
  put("end");
  log_.finish();
  EXPECT_LE(text("log").size(), 4096u);
  EXPECT_LE(text("log.1").size(), 4096u);
  EXPECT_TRUE(text("log").ends_with("xend") || text("log").ends_with("\nend")) << text("log").substr(0, 50);
  EXPECT_GT(log_.dropped(), 980'000u);
  EXPECT_TRUE(text("log.1").starts_with("[smartmig: " + std::to_string(log_.dropped()) + " bytes dropped]\n"));
}

TEST_F(LogCaptureTest, TheCopyIsCappedAndSaysSo) {
  log_.open(directory_, 1 << 20, 10);
  log_.copy_to(::open((place_.path() + "/copy").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  put("12345");
  put("6789012345");
  put("x");
  log_.finish();
  EXPECT_EQ(text("copy"), "1234567890\n[smartmig: 6 bytes dropped]\n");
  EXPECT_EQ(text("log"), "123456789012345x");
  EXPECT_EQ(log_.dropped(), 0u);
}

TEST_F(LogCaptureTest, ADeviceWithoutRoomIsNotWaitedFor) {
  log_.open(directory_, 1 << 20, 0);
  log_.copy_to(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  put("some text\n");
  log_.finish();
  EXPECT_EQ(text("log"), "some text\n");
}

TEST_F(LogCaptureTest, WithoutItsDirectoryItCounts) {
  log_.open(-1, 1 << 20, 0);
  put("some text\n");
  log_.finish();
  EXPECT_EQ(log_.dropped(), 10u);
}

}  // namespace
}  // namespace smartmig
