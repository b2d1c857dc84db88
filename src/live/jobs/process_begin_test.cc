// Starts that do not wait: the supervisor here takes its time before it says that its attempt has begun.
#include <sys/stat.h>

#include <mutex>

#include "support/process_runner_harness.h"

namespace smartmig {
namespace {

using Clock = std::chrono::steady_clock;

class ProcessBeginTest : public ProcessRunnerTest {
 protected:
  // Waits for the file `go`, or for nothing, then runs `then`, or the real supervisor.
  void begin_with(const std::string& then = "", bool waits = true) {
    const std::string go = spool_.path() + "/go";
    const std::string wait = waits ? fmt::format("while [ ! -e {} ]; do sleep 0.02; done\n", go) : "";
    const std::string run = then.empty() ? fmt::format("exec {} \"$@\"", find_supervisor().value()) : then;
    options_.supervisor = spool_.file("supervisor", fmt::format("#!/bin/sh\n{}{}\n", wait, run));
    ASSERT_EQ(::chmod(options_.supervisor.c_str(), 0700), 0);
    told_.clear();
    reopen();
  }
  void go() { spool_.file("go", ""); }
  static Launch on_slice(Launch launch) {
    launch.device = "MIG-1";
    return launch;
  }
  std::optional<JobRunner::Begun> told(AttemptId id) {
    wait_until([&] {
      for (JobRunner::Begun& one : runner_->begun()) told_.insert_or_assign(one.id, std::move(one));
      return told_.contains(id);
    });
    const auto at = told_.find(id);
    return at == told_.end() ? std::nullopt : std::optional(at->second);
  }
  std::map<AttemptId, JobRunner::Begun> told_;
};

TEST_F(ProcessBeginTest, NobodyWaitsForASlowSupervisor) {
  std::atomic<int> news{0};
  options_.on_exit = [&] { ++news; };
  begin_with();
  const auto before = Clock::now();
  EXPECT_FALSE(runner_->begin(on_slice(shell(1, "exit 3"))));
  EXPECT_LT(Clock::now() - before, std::chrono::seconds(5)) << "it would wait for ever";
  EXPECT_TRUE(runner_->begun().empty());
  EXPECT_EQ(runner_->others_on("MIG-1", {2, 1}), (std::vector<AttemptId>{{1, 1}})) << "it may be there at any moment";
  EXPECT_EQ(news, 0);
  go();
  const auto begun = told({1, 1});
  ASSERT_TRUE(begun);
  EXPECT_TRUE(begun->result);
  EXPECT_GE(news, 1) << "the owner was woken";
  EXPECT_EQ(wait_for({1, 1}).code, 3);
  EXPECT_TRUE(runner_->others_on("MIG-1", {2, 1}).empty());
}

TEST_F(ProcessBeginTest, AnEndIsToldAfterTheBeginning) {
  begin_with("", false);
  EXPECT_FALSE(runner_->begin(shell(1, "true")));
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(options_.spool + "/1/1/exit"); }));
  ASSERT_TRUE(wait_until([&] { return runner_->watched() == 0; }));
  EXPECT_TRUE(runner_->poll().empty()) << "nobody knows yet that it began";
  EXPECT_TRUE(told({1, 1}));
  EXPECT_EQ(wait_for({1, 1}).code, 0);
}

TEST_F(ProcessBeginTest, AStopReachesOneThatIsBeginning) {
  begin_with();
  EXPECT_FALSE(runner_->begin(shell(1, "sleep 1000")));
  EXPECT_TRUE(runner_->stop({1, 1}, SIGTERM, std::chrono::seconds(5), StopReason::kCancel));
  go();
  const auto begun = told({1, 1});
  ASSERT_TRUE(begun && begun->result);
  const AttemptExit exit = wait_for({1, 1});
  EXPECT_TRUE(exit.never_started || exit.signal == SIGTERM) << exit.words;
  EXPECT_EQ(exit.ordered, StopReason::kCancel);
}

TEST_F(ProcessBeginTest, OneThatCannotBeginLeavesItsSlice) {
  begin_with("exit 1");
  EXPECT_FALSE(runner_->begin(on_slice(shell(1, "true"))));
  EXPECT_TRUE(runner_->stop({1, 1}, SIGTERM, Time{0}, StopReason::kCancel)) << "what came of it will tell";
  go();
  const auto begun = told({1, 1});
  ASSERT_TRUE(begun);
  ASSERT_FALSE(begun->result);
  EXPECT_NE(begun->result.error().what.find("ended without a message"), std::string::npos)
      << begun->result.error().what;
  EXPECT_TRUE(runner_->others_on("MIG-1", {2, 1}).empty());
  EXPECT_FALSE(runner_->stop({1, 1}, SIGTERM, Time{0}, StopReason::kCancel));
  EXPECT_TRUE(runner_->poll().empty());
  begin_with("", false);
  EXPECT_FALSE(runner_->begin(on_slice(shell(1, "exit 4")))) << "the same attempt may begin again";
  EXPECT_TRUE(told({1, 1}));
  EXPECT_EQ(wait_for({1, 1}).code, 4);
}

TEST_F(ProcessBeginTest, ASupervisorThatIsShortOfDescriptorsBlamesNoJob) {
  begin_with("ulimit -n 11\nexec " + find_supervisor().value() + " \"$@\"", false);
  EXPECT_FALSE(runner_->begin(shell(1, "true")));
  const auto begun = told({1, 1});
  ASSERT_TRUE(begun && begun->result) << "its record is written";
  const AttemptExit exit = wait_for({1, 1});
  EXPECT_TRUE(exit.never_started && exit.short_of_means) << exit.words;
  EXPECT_NE(exit.words.find("no descriptors for it"), std::string::npos) << exit.words;
}

TEST_F(ProcessBeginTest, SeveralBeginAtATimeAndOthersWouldWait) {
  options_.starters = 2;
  begin_with();
  for (std::uint64_t job = 1; job <= 3; ++job) {
    EXPECT_EQ(runner_->begins_at_once(), job <= 2);
    EXPECT_FALSE(runner_->begin(shell(job, "exit 5")));
  }
  EXPECT_TRUE(runner_->begun().empty());
  go();
  for (std::uint64_t job = 1; job <= 3; ++job) {
    ASSERT_TRUE(told({job, 1}));
    EXPECT_EQ(wait_for({job, 1}).code, 5);
  }
  EXPECT_TRUE(runner_->begins_at_once());
}

TEST_F(ProcessBeginTest, WhatWaitsToBeginWhenTheDaemonEndsNeverRan) {
  options_.starters = 1;
  begin_with("sleep 0.3\nexec " + find_supervisor().value() + " \"$@\"", false);
  EXPECT_FALSE(runner_->begin(shell(1, "sleep 1000")));
  EXPECT_FALSE(runner_->begin(shell(2, "sleep 1000")));
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(options_.spool + "/1/1/origin"); }));
  reopen();
  const auto found = runner_->recover({{1, 1}, {2, 1}});
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->running, (std::vector<AttemptId>{{1, 1}})) << "one that was beginning has begun";
  EXPECT_TRUE(found->ended.empty());
  EXPECT_TRUE(runner_->stop({1, 1}, SIGKILL, Time{0}));
  (void)wait_for({1, 1});
}

}  // namespace
}  // namespace smartmig
