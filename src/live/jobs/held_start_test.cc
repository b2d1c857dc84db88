// Jobs that start before their slice is free, without CUDA: what the runner puts into their directory and environment,
// when their time limit begins, and what a runner knows that comes after a killed one.
#include "live/jobs/held_start.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>

#include "support/process_runner_harness.h"

namespace smartmig {
namespace {

class HeldStartTest : public ProcessRunnerTest {
 protected:
  void SetUp() override {
    options_.memory = spool_.path() + "/memory";
    std::filesystem::create_directory(options_.memory);
    ::setenv("SMARTMIG_PRELOAD", spool_.file("nothing.so", "").c_str(), 1);  // the loader passes over it with a word
    ProcessRunnerTest::SetUp();
  }
  void TearDown() override {
    ::unsetenv("SMARTMIG_PRELOAD");
    for (const std::uint64_t job : {1, 2})
      if (runner_ && runner_->stop({job, 1}, SIGKILL, Time{0})) wait_for({job, 1});
  }
  static Launch held(std::uint64_t job, const std::string& text) {
    Launch launch = shell(job, text);
    launch.hold = true;
    return launch;
  }
  static Launch with_slice(Launch launch) {
    launch.hold = false;
    launch.slice = {{"CUDA_VISIBLE_DEVICES", "MIG-7"}, {"SMARTMIG_GPU", "0"}};
    launch.device = "MIG-7";
    return launch;
  }
  std::string place(std::uint64_t job) const { return options_.memory + "/" + std::to_string(job) + ".1"; }
};

TEST_F(HeldStartTest, ItWaitsWhereItIsToldAndSeesNoDeviceOfOthers) {
  Launch launch = held(1, "echo $SMARTMIG_HOLD $SMARTMIG_HOLD_DIR $CUDA_VISIBLE_DEVICES; sleep 1000");
  launch.spec.environment.push_back("SMARTMIG_HOLD_DIR=/of/a/job/that/submits");
  start(launch);
  EXPECT_TRUE(wait_for_log({1, 1}, "1 " + place(1) + " MIG-00000000-0000-0000-0000-000000000000\n")) << log({1, 1});
  EXPECT_FALSE(runner_->granted({1, 1}));
  EXPECT_FALSE(runner_->first_cuda_call({1, 1}));
  std::ofstream(place(1) + "/12.cuda") << "2500000\n";
  std::ofstream(place(1) + "/13.cuda") << "1500000\n";
  std::ofstream(place(1) + "/14.cuda") << "no number";
  EXPECT_EQ(runner_->first_cuda_call({1, 1}), Time(1'500'000));
  ASSERT_TRUE(runner_->grant(with_slice(launch)));
  EXPECT_TRUE(runner_->granted({1, 1}));
  EXPECT_EQ(text_of(place(1) + "/grant"), std::string("CUDA_VISIBLE_DEVICES=MIG-7\0SMARTMIG_GPU=0\0", 42));
  EXPECT_EQ(runner_->left([](std::uint64_t) { return true; })[0].origin->device, "MIG-7");
  ASSERT_TRUE(runner_->stop({1, 1}, SIGKILL, Time{0}));
  wait_for({1, 1});
  runner_->forget_memory({1, 1});
  EXPECT_FALSE(std::filesystem::exists(place(1)));
  EXPECT_EQ(runner_->grant(with_slice(launch)).error().code, Error::kNotFound);
}

TEST_F(HeldStartTest, WhatTheJobForgesIsNoGrant) {
  const Launch launch = held(1, "sleep 1000");
  start(launch);
  std::ofstream(place(1) + "/grant") << "CUDA_VISIBLE_DEVICES=of another";
  std::ofstream(place(1) + "/grant.new") << "in the way";
  EXPECT_FALSE(runner_->granted({1, 1}));
  ASSERT_TRUE(runner_->grant(with_slice(launch)));
  EXPECT_EQ(text_of(place(1) + "/grant"), std::string("CUDA_VISIBLE_DEVICES=MIG-7\0SMARTMIG_GPU=0\0", 42));
  EXPECT_TRUE(runner_->granted({1, 1}));

  const Launch spoiled = held(2, "sleep 1000");
  start(spoiled);
  std::filesystem::create_directories(place(2) + "/grant/full");
  const auto refused = runner_->grant(with_slice(spoiled));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kInvalid) << "no shortage of the machine: " << refused.error().what;
  EXPECT_FALSE(runner_->granted({2, 1}));
}

TEST_F(HeldStartTest, AGrantThatItsJobHasNotYetIsPutAgain) {
  const Launch launch = held(1, "sleep 1000");
  start(launch);
  ASSERT_TRUE(runner_->grant(with_slice(launch)));
  std::filesystem::remove(place(1) + "/grant");  // as if the daemon had been killed in between
  reopen();
  ASSERT_TRUE(runner_->recover({{1, 1}}));
  ASSERT_TRUE(runner_->granted({1, 1}));
  ASSERT_TRUE(runner_->grant(launch));  // what was decided counts, not what it is called with
  EXPECT_EQ(text_of(place(1) + "/grant"), std::string("CUDA_VISIBLE_DEVICES=MIG-7\0SMARTMIG_GPU=0\0", 42));
  const auto left = runner_->left([](std::uint64_t) { return true; });
  EXPECT_TRUE(left[0].origin->held);
  EXPECT_EQ(left[0].origin->device, "MIG-7");
}

// The file's time is the host's, and somebody may set that before the next daemon reads it.
TEST_F(HeldStartTest, AGrantIsAsOldAsItIsWhateverTheTimeOfDay) {
  const Launch launch = held(1, "sleep 1000");
  start(launch);
  const auto now = [] {
    return UnixTime(std::chrono::duration_cast<Time>(std::chrono::system_clock::now().time_since_epoch()));
  };
  const UnixTime before = now();
  ASSERT_TRUE(runner_->grant(with_slice(launch)));
  const std::string own = spool_.path() + "/spool/1/1";
  const timespec tomorrow[2] = {{::time(nullptr) + 86'400, 0}, {::time(nullptr) + 86'400, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (own + "/grant").c_str(), tomorrow, 0), 0) << own;
  ASSERT_TRUE(runner_->granted({1, 1}));
  EXPECT_GE(*runner_->granted({1, 1}), before - Time(1000));
  EXPECT_LE(*runner_->granted({1, 1}), now());
}

TEST_F(HeldStartTest, ADirectoryFullOfFilesIsNotReadToItsEnd) {
  const Launch launch = held(1, "sleep 1000");
  start(launch);
  for (int i = 0; i < 20'000; ++i) std::ofstream(place(1) + "/" + std::to_string(i));
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) (void)runner_->first_cuda_call({1, 1});
  const double each = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() / 100;
  EXPECT_LT(each, 0.05);
}

TEST_F(HeldStartTest, TheTimeLimitCountsFromTheGrant) {
  Launch launch = held(1, "sleep 1000");
  launch.spec.time_limit = Time(50'000);
  launch.spec.grace = Time(10'000);
  start(launch);
  ::usleep(200'000);
  EXPECT_TRUE(runner_->poll().empty());
  launch.spec.time_limit = Time(100'000);  // as it is by then
  ASSERT_TRUE(runner_->grant(with_slice(launch)));
  const AttemptExit exit = wait_for({1, 1});
  EXPECT_TRUE(exit.timed_out);
  EXPECT_NE(exit.words.find("0.1 s"), std::string::npos) << exit.words;
}

TEST_F(HeldStartTest, ItOutlivesTheRunnerAndIsGrantedByTheNext) {
  const Launch launch = held(1, "while ! test -e " + spool_.path() + "/memory/1.1/grant; do sleep 0.01; done; exit 3");
  start(launch);
  reopen();
  const auto found = runner_->recover({{1, 1}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->running.size(), 1u);
  EXPECT_FALSE(runner_->granted({1, 1}));
  ASSERT_TRUE(runner_->grant(with_slice(launch)));
  ASSERT_TRUE(runner_->grant(with_slice(launch)));  // twice is once
  EXPECT_EQ(wait_for({1, 1}).code, 3);
}

TEST_F(HeldStartTest, ProgramsThatLoadNoLibrariesAreNotHeld) {
  JobSpec spec;
  spec.directory = "/";
  spec.command = {"sh", "-c", "true"};
  const JobRunner::Looks looks = runner_->looks();
  EXPECT_TRUE(looks.can_hold(spec, ::geteuid(), ::getegid()));
  runner_.reset();
  EXPECT_TRUE(looks.can_hold(spec, ::geteuid(), ::getegid())) << "a look may outlive the runner";
  EXPECT_TRUE(looks.can_reach(spec, ::geteuid(), ::getegid()));
  spec.command = {spool_.file("script", "#!/bin/sh\ntrue\n")};
  EXPECT_TRUE(can_be_held(spec, ::geteuid(), ::getegid()));
  spec.command = {spool_.file("text", "no program")};
  EXPECT_FALSE(can_be_held(spec, ::geteuid(), ::getegid()));
  spec.command = {"no-such-program"};
  EXPECT_FALSE(can_be_held(spec, ::geteuid(), ::getegid()));
  std::string program = text_of("/bin/sh");  // without the part that names the loader
  for (std::size_t at = 64; at + 56 < 4096; at += 56)
    if (program[at] == 3 && program[at + 1] == 0 && program[at + 2] == 0) program[at] = 4;
  spec.command = {spool_.file("static", program)};
  const auto refused = can_be_held(spec, ::geteuid(), ::getegid());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("linked statically"), std::string::npos) << refused.error().what;
}

TEST_F(HeldStartTest, AScriptTellsNothingOfFilesThatItsUserMayNotSee) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root looks with the rights of others";
  const TempDir closed;  // mode 0700, root's
  ASSERT_EQ(::chmod(closed.path().c_str(), 0700), 0);
  closed.file("there", text_of("/bin/sh"));
  const TempDir open;
  ASSERT_EQ(::chmod(open.path().c_str(), 0755), 0);
  JobSpec spec;
  spec.directory = "/";
  std::set<std::string> said;
  for (const char* name : {"there", "not-there"}) {
    const std::string script = open.file("script", fmt::format("#!{}/{}\n", closed.path(), name));
    ASSERT_EQ(::chmod(script.c_str(), 0755), 0);
    spec.command = {script};
    const auto answer = can_be_held(spec, 65534, 65534);
    std::string words = answer ? "yes" : answer.error().what;
    if (const auto at = words.find(name); at != words.npos) words.erase(at, std::string(name).size());
    said.insert(words);
  }
  EXPECT_EQ(said.size(), 1u) << *said.begin() << " / " << *said.rbegin();
}

}  // namespace
}  // namespace smartmig
