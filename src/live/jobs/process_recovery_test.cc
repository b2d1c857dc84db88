// The daemon dies, the supervisor dies, the machine restarts: each attempt ends exactly once, with the truth.
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "live/durable_file.h"
#include "support/process_runner_harness.h"

namespace smartmig {
namespace {

class ProcessRecoveryTest : public ProcessRunnerTest {
 protected:
  // Another daemon on the same spool, killed when `body` is through.
  void in_a_killed_daemon(const std::function<void(ProcessRunner&)>& body) {
    runner_.reset();
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      auto opened = ProcessRunner::open(options_);
      if (opened) body(**opened);
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status));
    reopen();
  }
};

TEST_F(ProcessRecoveryTest, JobsOutliveTheDaemonAndAreAdopted) {
  in_a_killed_daemon([&](ProcessRunner& daemon) {
    (void)daemon.start(
        shell(1, "echo a; while ! test -e " + spool_.path() + "/go; do sleep 0.02; done; echo b; exit 7"));
    (void)daemon.start(shell(2, "exit 5"));
    (void)daemon.start(shell(3, "trap '' TERM; echo up; sleep 1000"));
    wait_until([&] {
      return std::filesystem::exists(options_.spool + "/2/1/exit") && text_of(options_.spool + "/3/1/log") == "up\n";
    });
  });
  const std::vector<AttemptId> expected = {{1, 1}, {2, 1}, {3, 1}, {4, 1}};
  auto found = runner_->recover(expected);
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->running, (std::vector<AttemptId>{{1, 1}, {3, 1}}));
  ASSERT_EQ(found->ended.size(), 1u);
  EXPECT_EQ(found->ended[0].id, (AttemptId{2, 1}));
  EXPECT_EQ(found->ended[0].code, 5);
  spool_.file("go", "");
  EXPECT_EQ(wait_for({1, 1}).code, 7);
  EXPECT_EQ(log({1, 1}), "a\nb\n");
  ASSERT_TRUE(runner_->stop({3, 1}, SIGTERM, Time(100'000)));  // an adopted one obeys too
  EXPECT_EQ(wait_for({3, 1}).signal, SIGKILL);
  EXPECT_EQ(runner_->start(shell(1, "echo twice")).error().code, Error::kBusy);
  EXPECT_EQ(run(shell(4, "exit 6")).code, 6);  // never started, so it may be
  found = runner_->recover(expected);          // asked again: the same truth
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->running.empty());
  ASSERT_EQ(found->ended.size(), 4u);
  EXPECT_EQ(found->ended[0].code, 7);
}

TEST_F(ProcessRecoveryTest, WhatIsAliveOnASliceIsKnownWithoutAStore) {
  const auto on_slice = [](Launch launch) {
    launch.device = "MIG-1";
    return launch;
  };
  const std::string waits = "while ! test -e " + spool_.path() + "/go; do sleep 0.02; done";
  in_a_killed_daemon([&](ProcessRunner& daemon) {
    (void)daemon.start(on_slice(shell(1, waits)));
    (void)daemon.start(on_slice(shell(2, "exit 0")));
    wait_until([&] { return std::filesystem::exists(options_.spool + "/2/1/exit"); });
    wait_until([&] { return !alive(supervisor_of({2, 1})); });
  });
  EXPECT_EQ(runner_->found_alive(), (std::vector<AttemptId>{{1, 1}}));
  EXPECT_EQ(runner_->others_on("MIG-1", {3, 1}), (std::vector<AttemptId>{{1, 1}}));
  EXPECT_TRUE(runner_->others_on("MIG-1", {1, 1}).empty());
  EXPECT_TRUE(runner_->others_on("MIG-2", {3, 1}).empty());
  ASSERT_TRUE(runner_->recover({{1, 1}}));
  start(on_slice(shell(3, waits)));
  EXPECT_EQ(runner_->others_on("MIG-1", {4, 1}), (std::vector<AttemptId>{{1, 1}, {3, 1}}));
  spool_.file("go", "");
  EXPECT_EQ(wait_for({1, 1}).code, 0);
  EXPECT_EQ(wait_for({3, 1}).code, 0);
  EXPECT_TRUE(runner_->others_on("MIG-1", {4, 1}).empty());
}

TEST_F(ProcessRecoveryTest, WhatASupervisorLeftBehindIsKnownByItsToken) {
  Launch launch = shell(1, "sleep 1000 & echo $! >" + spool_.path() + "/pid; wait");
  launch.device = "MIG-1";
  start(launch);
  ASSERT_TRUE(wait_until([&] { return text_of(spool_.path() + "/pid").find('\n') != std::string::npos; }));
  const int left = std::stoi(text_of(spool_.path() + "/pid"));
  // while it becomes another program its environment is empty
  ASSERT_TRUE(wait_until([&] { return runner_->attempt_of_process(left) == std::optional(AttemptId{1, 1}); }));
  EXPECT_EQ(runner_->attempt_of_process(::getpid()), std::nullopt);
  runner_.reset();  // nobody ends what is left
  const int supervisor = supervisor_of({1, 1});
  ASSERT_EQ(::kill(supervisor, SIGKILL), 0);
  (void)::waitpid(supervisor, nullptr, 0);
  ASSERT_TRUE(wait_until([&] { return !alive(supervisor); }));
  reopen();
  if (alive(left)) {  // a cgroup may have taken it along
    EXPECT_EQ(runner_->others_on("MIG-1", {2, 1}), (std::vector<AttemptId>{{1, 1}}));
    ASSERT_TRUE(runner_->recover({{1, 1}}));  // ends what is left
  }
  ASSERT_TRUE(wait_until([&] { return !alive(left); }));
  EXPECT_TRUE(runner_->others_on("MIG-1", {2, 1}).empty());
}

TEST_F(ProcessRecoveryTest, TheTimeLimitHoldsWithoutADaemon) {
  in_a_killed_daemon([&](ProcessRunner& daemon) {
    Launch launch = shell(1, "sleep 1000");
    launch.spec.time_limit = Time(100'000);
    (void)daemon.start(launch);
  });
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(options_.spool + "/1/1/exit"); }));
  ASSERT_TRUE(wait_until([&] { return !alive(supervisor_of({1, 1})); }));
  const auto found = runner_->recover({{1, 1}});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->ended.size(), 1u);
  EXPECT_TRUE(found->ended[0].timed_out);
}

TEST_F(ProcessRecoveryTest, AStopGoesThroughWithoutADaemon) {
  in_a_killed_daemon([&](ProcessRunner& daemon) {
    (void)daemon.start(shell(1, "trap '' TERM; echo up; while :; do sleep 0.05; done"));
    wait_until([&] { return text_of(options_.spool + "/1/1/log") == "up\n"; });
    (void)daemon.stop({1, 1}, SIGTERM, Time(300'000));
  });
  ASSERT_TRUE(wait_until([&] { return !alive(supervisor_of({1, 1})); }));
  const auto found = runner_->recover({{1, 1}});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->ended.size(), 1u);
  EXPECT_EQ(found->ended[0].signal, SIGKILL);
}

// A process that a tracer holds stays below its supervisor when it is killed, as one does that the kernel does not let
// die. What then has the job's token later is seen on the slice.
TEST_F(ProcessRecoveryTest, ASliceIsKeptByAnAttemptOfWhichSomethingDidNotDie) {
  options_.kill_patience = Time(300'000);
  options_.use_cgroups = false;
  reopen();
  const std::string file = spool_.path() + "/pid";
  Launch launch = shell(1, "sleep 1000 & echo $! >" + file + "; wait");
  launch.device = "MIG-1";
  start(launch);
  ASSERT_TRUE(wait_until([&] { return text_of(file).find('\n') != std::string::npos; }));
  const int held = std::stoi(text_of(file));
  if (::ptrace(PTRACE_SEIZE, held, nullptr, nullptr) != 0) GTEST_SKIP() << "needs the right to trace a process";
  ASSERT_TRUE(runner_->stop({1, 1}, SIGKILL, Time{0}));
  EXPECT_EQ(wait_for({1, 1}).signal, SIGKILL);
  EXPECT_FALSE(alive(supervisor_of({1, 1})));
  const auto record = Spool::open(options_.spool)->read_record({1, 1});
  ASSERT_TRUE(record);
  const pid_t late = ::fork();
  if (late == 0) {
    ::setenv("SMARTMIG_ATTEMPT_TOKEN", record->token.c_str(), 1);
    ::execlp("sleep", "sleep", "1000", nullptr);
    ::_exit(127);
  }
  ASSERT_TRUE(wait_until([&] { return runner_->attempt_of_process(late) == std::optional(AttemptId{1, 1}); }));
  EXPECT_EQ(runner_->others_on("MIG-1", {2, 1}), (std::vector<AttemptId>{{1, 1}}));
  ::kill(late, SIGKILL);
  ::waitpid(late, nullptr, 0);
  ::waitpid(held, nullptr, __WALL);  // its tracer lets it go
  EXPECT_TRUE(runner_->others_on("MIG-1", {2, 1}).empty());
}

class KilledSupervisor : public ProcessRecoveryTest, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Cgroups, KilledSupervisor, ::testing::Bool());

TEST_P(KilledSupervisor, IsReportedAndNothingIsLeft) {
  options_.use_cgroups = GetParam();
  reopen();
  const std::string text = "setsid sleep 1000 & echo $! $$; wait";
  start(shell(1, text));
  ASSERT_TRUE(wait_until([&] { return log({1, 1}).ends_with("\n"); }));
  int first = 0, second = 0;
  std::istringstream(log({1, 1})) >> first >> second;
  ASSERT_TRUE(alive(first) && alive(second));
  ::kill(supervisor_of({1, 1}), SIGKILL);
  const AttemptExit exit = wait_for({1, 1});
  EXPECT_EQ(exit.words, "its supervisor was killed, and then the rest of the job");
  EXPECT_NE(exit.code, 0);
  EXPECT_TRUE(wait_until([&] { return !alive(first) && !alive(second); }));

  // The same while no daemon looks.
  start(shell(2, text));
  ASSERT_TRUE(wait_until([&] { return log({2, 1}).ends_with("\n"); }));
  std::istringstream(log({2, 1})) >> first >> second;
  const int supervisor = supervisor_of({2, 1});
  runner_.reset();
  ::kill(supervisor, SIGKILL);
  ::waitpid(supervisor, nullptr, 0);
  reopen();
  const auto found = runner_->recover({{2, 1}});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->ended.size(), 1u);
  EXPECT_NE(found->ended[0].words.find("its supervisor was killed"), std::string::npos);
  EXPECT_TRUE(wait_until([&] { return !alive(first) && !alive(second); }));
  const auto record = Spool::open(options_.spool)->read_record({2, 1});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->cgroups.empty(), !GetParam() || runner_->words().starts_with("no cgroups"));
  for (const std::string& path : record->cgroups) EXPECT_FALSE(std::filesystem::exists(path)) << path;
}

TEST_F(ProcessRecoveryTest, ARestartOfTheMachineIsNamed) {
  EXPECT_EQ(run(shell(1, "true")).code, 0);
  const std::string directory = options_.spool + "/1/1";
  std::string record = text_of(directory + "/record");
  const auto at = record.find(this_boot());
  ASSERT_NE(at, record.npos);
  record.replace(at, 8, "00000000");
  ASSERT_TRUE(write_durably(directory + "/record", record));
  std::filesystem::remove(directory + "/exit");
  for (int round = 0; round < 2; ++round) {
    const auto found = runner_->recover({{1, 1}});
    ASSERT_TRUE(found);
    ASSERT_EQ(found->ended.size(), 1u);
    EXPECT_EQ(found->ended[0].words, "the machine restarted while it ran");
    EXPECT_NE(found->ended[0].code, 0);
  }
}

// A supervisor that was forked by a daemon which died at once, and comes late: stopped before its first instruction of
// interest by a program in its place that waits for a file, then becomes the supervisor.
TEST_F(ProcessRecoveryTest, ALateSupervisorNeverRuns) {
  const std::string go = spool_.path() + "/go";
  options_.supervisor =
      spool_.file("late", fmt::format("#!/bin/sh\necho $$ >{0}/late.pid\nwhile ! test -e {1}; do sleep 0.02; done\n"
                                      "exec {2} \"$@\"\n",
                                      spool_.path(), go, *find_supervisor()));
  ::chmod(options_.supervisor.c_str(), 0755);
  const std::string ran = spool_.path() + "/ran";
  for (const bool go_first : {false, true}) {
    const AttemptId id{go_first ? 2u : 1u, 1};
    std::filesystem::remove(go);
    std::filesystem::remove(spool_.path() + "/late.pid");
    runner_.reset();
    const pid_t daemon = ::fork();
    if (daemon == 0) {
      auto opened = ProcessRunner::open(options_);
      if (opened) (void)(*opened)->start(shell(id.job, "echo late >>" + ran));
      ::_exit(0);
    }
    ASSERT_TRUE(wait_until([&] { return text_of(spool_.path() + "/late.pid").ends_with("\n"); }));
    const int late = std::atoi(text_of(spool_.path() + "/late.pid").c_str());
    ::kill(daemon, SIGKILL);
    ::waitpid(daemon, nullptr, 0);
    ASSERT_TRUE(alive(late));
    reopen();
    if (!go_first) {
      const auto found = runner_->recover({id});
      ASSERT_TRUE(found);
      EXPECT_TRUE(found->running.empty() && found->ended.empty());  // safe to start
      spool_.file("go", "");
      const AttemptExit exit = run(shell(id.job, "echo started >>" + ran));
      EXPECT_EQ(exit.code, 0) << exit.words;
      EXPECT_TRUE(wait_until([&] { return !alive(late); }));
      EXPECT_EQ(text_of(ran), "started\n");
    } else {  // it wins the race: then it is the attempt, and no second start happens
      spool_.file("go", "");
      ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(options_.spool + "/2/1/record"); }));
      const auto found = runner_->recover({id});
      ASSERT_TRUE(found);
      ASSERT_EQ(found->running.size() + found->ended.size(), 1u);
      EXPECT_EQ(runner_->start(shell(id.job, "echo twice >>" + ran)).error().code, Error::kBusy);
      if (!found->running.empty()) wait_for(id);
      EXPECT_EQ(text_of(ran), "started\nlate\n");
    }
  }
}

// The same in the middle of the removal of its directory: record and lock are gone, the directory is still there.
TEST_F(ProcessRecoveryTest, ASupervisorThatComesIntoAnEmptiedDirectoryNeverRuns) {
  const std::string go = spool_.path() + "/go", pid_file = spool_.path() + "/late.pid", ran = spool_.path() + "/ran";
  options_.supervisor =
      spool_.file("late", fmt::format("#!/bin/sh\necho $$ >{0}\nwhile ! test -e {1}; do sleep 0.02; done\n"
                                      "exec {2} \"$@\"\n",
                                      pid_file, go, *find_supervisor()));
  ::chmod(options_.supervisor.c_str(), 0755);
  runner_.reset();
  const pid_t daemon = ::fork();
  if (daemon == 0) {
    auto opened = ProcessRunner::open(options_);
    if (opened) (void)(*opened)->start(shell(1, "echo late >>" + ran));
    ::_exit(0);
  }
  ASSERT_TRUE(wait_until([&] { return text_of(pid_file).ends_with("\n"); }));
  const int late = std::atoi(text_of(pid_file).c_str());
  ::kill(daemon, SIGKILL);
  ::waitpid(daemon, nullptr, 0);
  const std::string directory = options_.spool + "/1/1";
  for (const auto& entry : std::filesystem::directory_iterator(directory)) std::filesystem::remove(entry.path());
  spool_.file("go", "");
  EXPECT_TRUE(wait_until([&] { return !alive(late); }));
  EXPECT_FALSE(std::filesystem::exists(directory + "/record"));
  EXPECT_FALSE(std::filesystem::exists(ran));
  reopen();
  EXPECT_EQ(run(shell(1, "echo started >>" + ran)).code, 0);
  EXPECT_EQ(text_of(ran), "started\n");
}

TEST_F(ProcessRecoveryTest, AVoidRecordIsNoAttempt) {
  const std::string directory = options_.spool + "/1/1";
  std::filesystem::create_directories(directory);
  ASSERT_TRUE(write_durably(directory + "/record", void_record()));
  const auto found = runner_->recover({{1, 1}});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->running.empty() && found->ended.empty());
  EXPECT_FALSE(std::filesystem::exists(directory));
  std::filesystem::create_directories(directory);  // left by a daemon that died before it started anything
  EXPECT_EQ(run(shell(1, "exit 3")).code, 3);
}

// Killed at random instants around start and exit: each job ran once or never, and its end is known.
TEST_F(ProcessRecoveryTest, KillsAtRandomInstants) {
  const std::string ran = spool_.path() + "/ran";
  const int rounds = 30;
  for (int i = 1; i <= rounds; ++i) {
    runner_.reset();
    const AttemptId id{std::uint64_t(i), 1};
    const pid_t daemon = ::fork();
    if (daemon == 0) {
      auto opened = ProcessRunner::open(options_);
      if (opened) (void)(*opened)->start(shell(id.job, fmt::format("echo {} >>{}", i, ran)));
      ::pause();
    }
    ::usleep(useconds_t(i * 400));
    ::kill(daemon, SIGKILL);
    ::waitpid(daemon, nullptr, 0);
    reopen();
    auto found = runner_->recover({id});
    ASSERT_TRUE(found) << found.error().what;
    if (found->running.empty() && found->ended.empty()) {
      const AttemptExit exit = run(shell(id.job, fmt::format("echo {} >>{}", i, ran)));
      EXPECT_EQ(exit.code, 0) << exit.words;
    } else if (!found->running.empty()) {
      EXPECT_EQ(wait_for(id).code, 0);
    } else {
      EXPECT_EQ(found->ended[0].code, 0) << found->ended[0].words;
    }
  }
  std::string wanted;
  for (int i = 1; i <= rounds; ++i) wanted += std::to_string(i) + "\n";
  EXPECT_EQ(text_of(ran), wanted);
}

TEST_P(KilledSupervisor, KeepsTheSliceWhileSomethingOfItsJobLives) {
  options_.use_cgroups = GetParam();
  reopen();
  Launch launch = shell(1, "setsid sleep 1000 & echo $!; wait");
  launch.device = "MIG-1";
  start(launch);
  ASSERT_TRUE(wait_until([&] { return log({1, 1}).ends_with("\n"); }));
  const int left = std::stoi(log({1, 1})), supervisor = supervisor_of({1, 1});
  // while it becomes another program its environment is empty
  ASSERT_TRUE(wait_until([&] { return runner_->attempt_of_process(left) == std::optional(AttemptId{1, 1}); }));
  runner_.reset();  // nobody ends what is left
  ASSERT_EQ(::kill(supervisor, SIGKILL), 0);
  (void)::waitpid(supervisor, nullptr, 0);
  ASSERT_TRUE(wait_until([&] { return !alive(supervisor); }));
  if (!alive(left)) GTEST_SKIP() << "the kernel ended what its supervisor had left";
  reopen();
  EXPECT_EQ(runner_->found_alive(), (std::vector<AttemptId>{{1, 1}}));
  EXPECT_EQ(runner_->others_on("MIG-1", {2, 1}), (std::vector<AttemptId>{{1, 1}}));
  ::kill(left, SIGKILL);
  ASSERT_TRUE(wait_until([&] { return !alive(left); }));
  EXPECT_TRUE(wait_until([&] { return runner_->others_on("MIG-1", {2, 1}).empty(); }));
  reopen();
  EXPECT_TRUE(runner_->found_alive().empty());
}

}  // namespace
}  // namespace smartmig
