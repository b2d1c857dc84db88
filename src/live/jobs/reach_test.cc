#include "live/jobs/reach.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>

#include "live/jobs/held_start.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

constexpr std::uint32_t kStranger = 61'234;

class ReachProcess : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: it asks with the rights of another user";
    ::chmod(dir_.path().c_str(), 0755);
    spec_.command = {dir_.file("open/program", "#!/bin/sh\n")};
    spec_.directory = "/";
    ::chmod((dir_.path() + "/open").c_str(), 0755);
    ::chmod(spec_.command[0].c_str(), 0755);
  }
  std::string words(std::uint32_t uid = kStranger) {
    const auto reached = can_reach_program(spec_, uid, uid);
    return reached ? "" : reached.error().what;
  }
  TempDir dir_;
  JobSpec spec_;
};

TEST_F(ReachProcess, AProgramThatAllMayExecute) { EXPECT_EQ(words(), ""); }

TEST_F(ReachProcess, ADirectoryOnTheWayIsClosed) {
  ::chmod((dir_.path() + "/open").c_str(), 0700);
  EXPECT_NE(words().find("cannot execute " + spec_.command[0] + ": " + dir_.path() + "/open is closed"),
            std::string::npos)
      << words();
  EXPECT_EQ(words(0), "") << "root reaches everything";
  ::chmod((dir_.path() + "/open").c_str(), 0710);
  ASSERT_EQ(::chown((dir_.path() + "/open").c_str(), 0, kStranger), 0);
  EXPECT_EQ(words(), "") << "its group may";
}

TEST_F(ReachProcess, AFileThatMayNotBeExecuted) {
  ::chmod(spec_.command[0].c_str(), 0744);
  EXPECT_NE(words().find("cannot execute"), std::string::npos);
}

TEST_F(ReachProcess, TheWorkingDirectoryIsClosed) {
  spec_.directory = dir_.path() + "/open";
  ::chmod(spec_.directory.c_str(), 0700);
  EXPECT_NE(words().find("cannot enter the job's directory"), std::string::npos);
}

TEST_F(ReachProcess, ThePathIsSearchedAsAtTheStart) {
  spec_.command = {"program"};
  spec_.environment = {"PATH=/nowhere:" + dir_.path() + "/open"};
  EXPECT_EQ(words(), "");
  ::chmod((dir_.path() + "/open").c_str(), 0700);
  EXPECT_NE(words(), "");
  spec_.command = {"./program"};
  spec_.directory = dir_.path();
  EXPECT_EQ(words(), "") << "what is not there may come";
}

TEST_F(ReachProcess, OnlySoManyPlacesOfAPathAreLookedAt) {
  spec_.command = {"program"};
  spec_.directory = "/" + std::string(4000, 'd');
  std::string path = "PATH=";
  for (int i = 0; i < kMostPlaces; ++i) path += "x:";
  spec_.environment = {path + dir_.path() + "/open"};
  ::chmod((dir_.path() + "/open").c_str(), 0700);
  EXPECT_EQ(words(), "") << "it may be anywhere behind them";
  spec_.environment = {"PATH=x:" + dir_.path() + "/open"};
  EXPECT_NE(words(), "");
  spec_.environment = {"PATH=" + std::string(100'000, ':')};
  EXPECT_EQ(words(), "");
}

TEST_F(ReachProcess, TheAskingThreadKeepsItsRights) {
  ::chmod(spec_.command[0].c_str(), 0700);
  EXPECT_NE(words(), "");
  EXPECT_EQ(::access(spec_.command[0].c_str(), X_OK), 0);
  EXPECT_EQ(words(0), "");
}

// Each entry of the search is looked for below the directory: both together are some 60 MB of paths.
TEST_F(ReachProcess, ALongSearchFromALongDirectoryEndsSoon) {
  std::string directory = dir_.path();
  while (directory.size() < 3'000) directory += "/" + std::string(200, 'd');
  std::filesystem::create_directories(directory);
  std::string search = "PATH=";
  for (int i = 0; i < 20'000; ++i) search += fmt::format("{:05}:", i);
  spec_.command = {"nothing-of-that-name"};
  spec_.directory = directory;
  spec_.environment = {search};
  for (std::string part = directory; part.size() > dir_.path().size(); part.resize(part.rfind('/')))
    ::chmod(part.c_str(), 0755);
  timespec before{}, after{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  EXPECT_EQ(words(), "") << "a longer search than any is no refusal";
  const auto held = can_be_held(spec_, kStranger, kStranger);
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  EXPECT_FALSE(held);
  EXPECT_LT(after.tv_sec - before.tv_sec, 3) << "of CPU time";
}

}  // namespace
}  // namespace smartmig
