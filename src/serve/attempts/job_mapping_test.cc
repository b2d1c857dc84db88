#include "serve/attempts/job_mapping.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "live/durable_file.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

std::map<std::string, std::string> contents(const std::string& directory) {
  std::map<std::string, std::string> all;
  for (const std::string& path : files_in(directory, "", ""))
    all[std::filesystem::path(path).filename().string()] = read_file(path).value();
  return all;
}

using Files = std::map<std::string, std::string>;

TEST(JobMapping, FollowsTheBusySlices) {
  const TempDir dir;
  const std::string at = dir.path() + "/map";
  auto mapping = JobMapping::open(at);
  ASSERT_TRUE(mapping);
  ASSERT_TRUE(mapping->set({{{0, 3}, 17}, {{1, -1}, 18}}));
  EXPECT_EQ(contents(at), (Files{{"0.3", "17\n"}, {"1", "18\n"}}));
  ASSERT_TRUE(mapping->set({{{0, 3}, 19}, {{0, 4}, 20}}));
  EXPECT_EQ(contents(at), (Files{{"0.3", "19\n"}, {"0.4", "20\n"}}));
  ASSERT_TRUE(mapping->set({}));
  EXPECT_EQ(contents(at), Files{});
}

TEST(JobMapping, CleansItsOwnNamesOnly) {
  const TempDir dir;
  for (const char* name : {"0", "1.7", "README", "1.x", "gpu.2", "1.2.3"}) dir.file(name, "old\n");
  ASSERT_TRUE(JobMapping::open(dir.path()));
  EXPECT_EQ(contents(dir.path()),
            (Files{{"1.2.3", "old\n"}, {"1.x", "old\n"}, {"README", "old\n"}, {"gpu.2", "old\n"}}));
}

TEST(JobMapping, WritesAgainWhatFailed) {
  const TempDir dir;
  auto mapping = JobMapping::open(dir.path());
  ASSERT_TRUE(mapping);
  std::filesystem::create_directories(dir.path() + "/0.3/x");  // in the way
  EXPECT_FALSE(mapping->set({{{0, 3}, 17}, {{0, 4}, 18}}));
  EXPECT_EQ(read_file(dir.path() + "/0.4").value(), "18\n");
  std::filesystem::remove_all(dir.path() + "/0.3");
  EXPECT_TRUE(mapping->set({{{0, 3}, 17}, {{0, 4}, 18}}));
  EXPECT_EQ(read_file(dir.path() + "/0.3").value(), "17\n");
  EXPECT_FALSE(JobMapping::open(dir.file("plain", "x") + "/map"));
}

}  // namespace
}  // namespace smartmig
