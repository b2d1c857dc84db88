#include "report/run_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "support/recorded_test_run.h"

namespace smartmig {
namespace {
namespace fs = std::filesystem;

class RunDir : public testing::Test {
 protected:
  RunDir() {
    std::string pattern = (fs::temp_directory_path() / "smartmig-test-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~RunDir() override { fs::remove_all(root_); }
  static std::set<std::string> names(const fs::path& path) {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(path)) out.insert(entry.path().filename());
    return out;
  }
  fs::path root_;
};

TEST_F(RunDir, HoldsEverythingAndIsTheSameTwice) {
  const TestRun run = test_run();
  ASSERT_TRUE(write_run_dir(root_ / "a", run.record, {false, true}));
  EXPECT_EQ(names(root_ / "a"),
            (std::set<std::string>{"config.toml", "consumed_energy.csv", "jobs.csv", "journal.jsonl",
                                   "machine_states.csv", "partition_changes.csv", "report.html", "rules.txt",
                                   "schedule.json", "timing.json", "trace.json"}));
  EXPECT_EQ(*read_file(root_ / "a" / "rules.txt"), "made by hand\n");
  TestRun again = test_run();
  again.record.wall_s = 7;
  ASSERT_TRUE(write_run_dir(root_ / "b", again.record, {false, true}));
  for (const std::string& name : names(root_ / "a"))
    EXPECT_EQ(*read_file(root_ / "a" / name) == *read_file(root_ / "b" / name), name != "timing.json") << name;
}

TEST_F(RunDir, WithoutAJournalWritesWhatItCan) {
  TestRun run = test_run();
  run.record.events = nullptr;
  ASSERT_TRUE(write_run_dir(root_ / "a", run.record));
  EXPECT_EQ(names(root_ / "a"),
            (std::set<std::string>{"config.toml", "jobs.csv", "rules.txt", "schedule.json", "timing.json"}));
  EXPECT_FALSE(write_run_dir(root_ / "b", run.record, {false, true}));
  EXPECT_FALSE(fs::exists(root_ / "b"));
}

TEST_F(RunDir, ReplacesOnlyWhenForced) {
  const TestRun run = test_run();
  fs::create_directory(root_ / "a");
  ASSERT_TRUE(write_file((root_ / "a" / "mine").string(), "x"));
  const auto refused = write_run_dir(root_ / "a", run.record);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("--force"), std::string::npos);
  EXPECT_EQ(names(root_ / "a"), std::set<std::string>{"mine"});
  ASSERT_TRUE(write_run_dir(root_ / "a", run.record, {true, false}));
  EXPECT_EQ(names(root_ / "a").count("mine"), 0u);
  EXPECT_EQ(names(root_), std::set<std::string>{"a"});
}

TEST_F(RunDir, WhereItCannotWriteItSaysSoAndLeavesNothing) {
  const TestRun run = test_run();
  ASSERT_TRUE(write_file((root_ / "file").string(), "x"));
  const auto refused = write_run_dir(root_ / "file" / "run", run.record);  // also for root, who may write everywhere
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("file/run"), std::string::npos) << refused.error().what;
  if (::geteuid() != 0) {
    fs::create_directory(root_ / "closed");
    ::chmod((root_ / "closed").c_str(), 0500);
    EXPECT_FALSE(write_run_dir(root_ / "closed" / "run", run.record));
    EXPECT_TRUE(names(root_ / "closed").empty());
  }
  EXPECT_EQ(*read_file((root_ / "file").string()), "x");
}

TEST_F(RunDir, TellsNothingOfTheMachine) {
  const TestRun run = test_run();
  ASSERT_TRUE(write_run_dir(root_ / "a", run.record, {false, true}));
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  for (const std::string& name : names(root_ / "a")) {
    const std::string text = *read_file(root_ / "a" / name);
    EXPECT_EQ(text.find(root_.string()), std::string::npos) << name;
    EXPECT_TRUE(std::string_view(host).size() <= 5 || text.find(host) == text.npos) << name;
  }
}

}  // namespace
}  // namespace smartmig
