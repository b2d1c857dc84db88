// Jobs that start before their slice is free, without CUDA: what the runner puts into their directory and environment,
// when their time limit begins, and what a runner knows that comes after a killed one.
#include "live/jobs/held_start.h"

#include <signal.h>

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
  void TearDown() override { ::unsetenv("SMARTMIG_PRELOAD"); }
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
  EXPECT_TRUE(runner_->can_hold(spec));
  spec.command = {spool_.file("script", "#!/bin/sh\ntrue\n")};
  EXPECT_TRUE(can_be_held(spec));
  spec.command = {spool_.file("text", "no program")};
  EXPECT_FALSE(can_be_held(spec));
  spec.command = {"no-such-program"};
  EXPECT_FALSE(can_be_held(spec));
  std::string program = text_of("/bin/sh");  // without the part that names the loader
  for (std::size_t at = 64; at + 56 < 4096; at += 56)
    if (program[at] == 3 && program[at + 1] == 0 && program[at + 2] == 0) program[at] = 4;
  spec.command = {spool_.file("static", program)};
  const auto refused = can_be_held(spec);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("linked statically"), std::string::npos) << refused.error().what;
}

}  // namespace
}  // namespace smartmig
