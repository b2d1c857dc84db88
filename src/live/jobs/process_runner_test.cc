#include "live/jobs/process_runner.h"

#include <dirent.h>
#include <pwd.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/file.h"
#include "support/process_runner_harness.h"

namespace smartmig {
namespace {

int open_descriptors() {
  int count = 0;
  DIR* const all = ::opendir("/proc/self/fd");
  while (::readdir(all)) ++count;
  ::closedir(all);
  return count;
}

TEST_F(ProcessRunnerTest, RunsACommandAndReportsItsExit) {
  int told = 0;
  std::mutex mutex;
  options_.on_exit = [&] {
    const std::lock_guard lock(mutex);
    ++told;
  };
  reopen();
  Launch launch = shell(1, "echo out; echo err >&2; echo $COLOUR $SLICE; pwd; exit 3");
  launch.slice = {{"SLICE", "MIG-1"}, {"COLOUR", "red"}};
  launch.spec.directory = "/usr";
  const AttemptExit exit = run(launch);
  EXPECT_EQ(exit.code, 3);
  EXPECT_EQ(exit.signal, 0);
  EXPECT_FALSE(exit.never_started || exit.timed_out || exit.host_oom);
  EXPECT_EQ(exit.words, "exit code 3");
  EXPECT_GT(exit.started, from_unix_us(1'600'000'000'000'000));
  EXPECT_GE(exit.ended, exit.started);
  EXPECT_GE(exit.peak_host_mib, 0);
  EXPECT_EQ(log({1, 1}), "out\nerr\nred MIG-1\n/usr\n");
  EXPECT_TRUE(wait_until([&] {
    const std::lock_guard lock(mutex);
    return told == 1;
  }));
  struct stat entry {};
  ASSERT_EQ(::stat((options_.spool + "/1/1").c_str(), &entry), 0);
  EXPECT_EQ(entry.st_mode & 0777, 0700u);
  runner_->forget(1);
  EXPECT_EQ(runner_->log_path({1, 1}), "");
  EXPECT_NE(::stat((options_.spool + "/1").c_str(), &entry), 0);
}

TEST_F(ProcessRunnerTest, OneEnvironmentIsWrittenOnceForAllThatShareIt) {
  const auto place = [&](std::uint64_t job) { return fmt::format("{}/{}/1/", options_.spool, job); };
  const auto file_of = [&](std::uint64_t job) {
    struct stat file {};
    EXPECT_EQ(::stat((place(job) + "launch").c_str(), &file), 0) << job;
    return file.st_ino;
  };
  for (std::uint64_t job = 1; job <= 4; ++job) {
    if (job == 3) runner_->forget(2);  // what the next would be linked to
    Launch launch = shell(job, "echo $COLOUR");
    launch.shared = job == 4 ? 4 : 1;
    launch.spec.environment = {"COLOUR=" + std::string(100'000, job == 4 ? 'b' : 'r'), "PATH=/usr/bin:/bin"};
    EXPECT_EQ(run(launch).code, 0);
    EXPECT_LT(std::filesystem::file_size(place(job) + "origin"), 10'000u);
    if (job == 2) {
      EXPECT_EQ(file_of(1), file_of(2));
    }
  }
  EXPECT_NE(file_of(1), file_of(3));
  EXPECT_NE(file_of(3), file_of(4));
  const auto left = runner_->left([](std::uint64_t) { return true; });
  ASSERT_EQ(left.size(), 3u);
  for (const auto& one : left) {
    ASSERT_TRUE(one.origin);
    EXPECT_EQ(one.origin->spec.environment[0], "COLOUR=" + std::string(100'000, one.id.job == 4 ? 'b' : 'r'));
  }
  std::filesystem::remove(place(4) + "launch");
  EXPECT_FALSE(runner_->left([](std::uint64_t job) { return job == 4; })[0].origin) << "not without its environment";
}

TEST_F(ProcessRunnerTest, StandardErrorGoesToAFileOfItsOwnAndToTheLog) {
  Launch launch = shell(4, "echo out; echo err >&2");
  launch.spec.output = spool_.path() + "/%j.out";
  launch.spec.error = spool_.path() + "/%j.err";
  EXPECT_EQ(run(launch).code, 0);
  EXPECT_EQ(read_file(spool_.path() + "/4.out").value(), "out\n");
  EXPECT_EQ(read_file(spool_.path() + "/4.err").value(), "err\n");
  const std::string both = log({4, 1});
  EXPECT_TRUE(both == "out\nerr\n" || both == "err\nout\n") << both;
  launch = shell(5, "echo out; echo err >&2");
  launch.spec.error = spool_.path() + "/%j.err";
  EXPECT_EQ(run(launch).code, 0);
  EXPECT_EQ(read_file(spool_.path() + "/5.err").value(), "err\n");
}

TEST_F(ProcessRunnerTest, ASuspendedJobStandsStillAndSoDoesItsTimeLimit) {
  const std::string count = spool_.path() + "/count", go = spool_.path() + "/go";
  Launch launch =
      shell(6, fmt::format("echo $$; i=0; while [ ! -e {} ]; do i=$((i + 1)); echo $i >{}; done", go, count));
  const Time limit = from_seconds(4);
  launch.spec.time_limit = limit;
  start(launch);
  ASSERT_TRUE(wait_until([&] { return log({6, 1}).ends_with("\n") && !text_of(count).empty(); }));
  const auto suspended = std::chrono::steady_clock::now();
  EXPECT_TRUE(runner_->suspend({6, 1}, true));
  EXPECT_TRUE(runner_->suspend({6, 1}, true));
  const int pid = std::stoi(log({6, 1}));
  ASSERT_TRUE(wait_until([&] { return state_of(pid) == 'T'; }));
  const std::string counted = text_of(count);
  ASSERT_TRUE(wait_until([&] { return std::chrono::steady_clock::now() - suspended > limit + from_seconds(0.5); }));
  EXPECT_EQ(text_of(count), counted) << "it does nothing";
  EXPECT_EQ(state_of(pid), 'T') << "its limit has not passed";
  std::ofstream(go) << "go";
  EXPECT_TRUE(runner_->suspend({6, 1}, false));
  EXPECT_EQ(wait_for({6, 1}).code, 0);
  start(shell(7, "sleep 60"));
  EXPECT_TRUE(runner_->suspend({7, 1}, true));
  EXPECT_TRUE(runner_->stop({7, 1}, SIGTERM, from_seconds(20)));
  EXPECT_EQ(wait_for({7, 1}).signal, SIGTERM) << "a stopped one hears it, too";
}

TEST_F(ProcessRunnerTest, ASuspendedJobsChildrenStandStillToo) {
  const std::string count = spool_.path() + "/count";
  start(
      shell(8, fmt::format("setsid sh -c 'echo $$; i=0; while :; do i=$((i + 1)); echo $i >{}; done' & wait", count)));
  ASSERT_TRUE(wait_until([&] { return log({8, 1}).ends_with("\n") && !text_of(count).empty(); }));
  const int child = std::stoi(log({8, 1}));
  EXPECT_TRUE(runner_->suspend({8, 1}, true));
  EXPECT_TRUE(wait_until([&] { return state_of(child) == 'T'; })) << "a session of its own does not keep it going";
  const std::string counted = text_of(count);
  EXPECT_TRUE(runner_->suspend({8, 1}, false));
  EXPECT_TRUE(wait_until([&] { return text_of(count) != counted && !text_of(count).empty(); }));
  EXPECT_TRUE(runner_->stop({8, 1}, SIGTERM, from_seconds(20)));
  wait_for({8, 1});
}

TEST_F(ProcessRunnerTest, KilledBySignal) {
  const AttemptExit exit = run(shell(1, "kill -SEGV $$"));
  EXPECT_EQ(exit.code, -1);
  EXPECT_EQ(exit.signal, SIGSEGV);
  EXPECT_NE(exit.words.find("signal 11"), std::string::npos) << exit.words;
}

TEST_F(ProcessRunnerTest, WhatCannotRunIsNamed) {
  Launch launch = shell(1, "");
  launch.spec.command = {"no-such-program-here"};
  AttemptExit exit = run(launch);
  EXPECT_TRUE(exit.never_started);
  EXPECT_EQ(exit.words, "the program no-such-program-here is not in its PATH, or may not be run");
  launch = shell(2, "true");
  launch.spec.directory = "/no/such/place";
  exit = run(launch);
  EXPECT_TRUE(exit.never_started);
  EXPECT_EQ(exit.words, "cannot enter the directory /no/such/place: No such file or directory");
  launch = shell(3, "true");
  launch.spec.output = "/no/such/place/%j.out";
  exit = run(launch);
  EXPECT_TRUE(exit.never_started);
  EXPECT_EQ(exit.words, "cannot write the output file /no/such/place/3.out: No such file or directory");
  launch = shell(4, "true");
  launch.spec.command[2] = std::string("a\0b", 3);
  EXPECT_EQ(runner_->start(launch).error().code, Error::kInvalid);
  EXPECT_EQ(runner_->stop({9, 1}, SIGTERM, Time(0)).error().code, Error::kNotFound);
  EXPECT_EQ(runner_->watched(), 0u);
}

TEST_F(ProcessRunnerTest, AnAttemptStartsOnce) {
  EXPECT_EQ(run(shell(1, "echo first")).code, 0);
  const auto again = runner_->start(shell(1, "echo second"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Error::kBusy);
  EXPECT_EQ(log({1, 1}), "first\n");
  EXPECT_EQ(run(shell(1, "echo second", 2)).code, 0);
  EXPECT_EQ(log({1, 2}), "second\n");
}

TEST_F(ProcessRunnerTest, ScriptsRunFromMemory) {
  Launch launch = shell(1, "");
  launch.spec.command = {"bash", "-e"};
  launch.spec.script = "#!/bin/bash\necho one $#\nfalse\necho two\n";
  EXPECT_EQ(run(launch).code, 1);
  EXPECT_EQ(log({1, 1}), "one 0\n");
  launch.id.job = 2;
  launch.spec.command = {"bash", "{script}", "a", "b c"};
  launch.spec.script = "echo $1-$2\n";
  EXPECT_EQ(run(launch).code, 0);
  EXPECT_EQ(log({2, 1}), "a-b c\n");
  launch.id.job = 3;
  launch.spec.command = {"/usr/bin/env", "-S bash -e", "a", "b"};
  launch.spec.script = "#! /usr/bin/env -S bash -e\necho $1+$2\n";
  EXPECT_EQ(run(launch).code, 0);
  EXPECT_EQ(log({3, 1}), "a+b\n");
}

TEST_F(ProcessRunnerTest, TheJobInheritsNothing) {
  const int leak = ::open("/dev/null", O_RDONLY);  // not close-on-exec
  ::signal(SIGUSR2, SIG_IGN);
  const AttemptExit exit =
      run(shell(1,
                "ls -l /proc/self/fd | wc -l; grep -E '^(NoNewPrivs|SigIgn|SigBlk)' /proc/self/status; "
                "readlink /proc/self/fd/0; cut -d' ' -f5,6 /proc/self/stat; echo $$; env | sort"));
  ::close(leak);
  ::signal(SIGUSR2, SIG_DFL);
  EXPECT_EQ(exit.code, 0);
  const std::string text = log({1, 1});
  // "total 0", 0 to 2 and what ls itself opens.
  EXPECT_TRUE(text.starts_with("5\n")) << text;
  EXPECT_NE(text.find("NoNewPrivs:\t1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("SigBlk:\t0000000000000000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("SigIgn:\t0000000000000000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("/dev/null\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("SMARTMIG_SUPERVISOR"), std::string::npos) << text;
  EXPECT_NE(text.find("COLOUR=blue\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("GTEST"), std::string::npos) << text;
}

TEST_F(ProcessRunnerTest, RunsAsItsUser) {
  const passwd* const nobody = ::getpwnam("nobody");
  if (::geteuid() != 0 || !nobody) GTEST_SKIP() << "only root can run jobs as another user";
  const TempDir secret, own;
  secret.file("secret", "secret");
  ::chmod((secret.path() + "/secret").c_str(), 0600);
  ASSERT_EQ(::chown(own.path().c_str(), nobody->pw_uid, nobody->pw_gid), 0);
  Launch launch = shell(1, "id -u; id -G; cat " + secret.path() + "/secret; ls " + options_.spool +
                               "; ls -A; kill -0 $PPID; "
                               "cat /proc/$PPID/environ; touch mine");
  launch.uid = nobody->pw_uid;
  launch.gid = nobody->pw_gid;
  launch.user = "nobody";
  launch.spec.directory = own.path();
  launch.spec.output = "%x-%j.%t.out";
  launch.spec.name = "n";
  EXPECT_EQ(run(launch).code, 0);
  const std::string text = log({1, 1});
  const std::string ids = fmt::format("{}\n{}\n", nobody->pw_uid, nobody->pw_gid);
  EXPECT_TRUE(text.starts_with(ids)) << text;
  EXPECT_EQ(text.find("secret\n"), std::string::npos) << text;
  EXPECT_NE(text.find("secret: Permission denied"), std::string::npos) << text;
  EXPECT_NE(text.find("spool"), std::string::npos) << text;
  EXPECT_NE(text.find("Operation not permitted"), std::string::npos) << text;  // kill
  struct stat entry {};
  ASSERT_EQ(::stat((own.path() + "/mine").c_str(), &entry), 0);
  EXPECT_EQ(entry.st_uid, nobody->pw_uid);
  ASSERT_EQ(::stat((own.path() + "/n-1.1.out").c_str(), &entry), 0);
  EXPECT_EQ(entry.st_uid, nobody->pw_uid);
  EXPECT_EQ(text_of(own.path() + "/n-1.1.out"), text);

  // Paths are opened with the user's rights: not where only root may write or look.
  launch.id.job = 2;
  launch.spec.output = "/etc/smartmig-test.out";
  AttemptExit exit = run(launch);
  EXPECT_TRUE(exit.never_started);
  EXPECT_EQ(exit.words, "cannot write the output file /etc/smartmig-test.out: Permission denied");
  launch.id.job = 3;
  launch.spec.output.clear();
  launch.spec.directory = options_.spool;
  EXPECT_EQ(run(launch).words, "cannot enter the directory " + options_.spool + ": Permission denied");
  launch.id.job = 4;
  launch.spec.directory = "/";
  launch.spec.command = {"bash"};
  launch.spec.script = "id -u; cat /proc/self/fd/3 >/dev/null && echo readable; echo x >/proc/self/fd/3; exit 0";
  EXPECT_EQ(run(launch).code, 0);
  EXPECT_TRUE(log({4, 1}).starts_with(fmt::format("{}\nreadable\n", nobody->pw_uid))) << log({4, 1});
}

TEST_F(ProcessRunnerTest, AnotherUserNeedsRoot) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may run jobs of any user";
  Launch launch = shell(1, "true");
  launch.uid = 0;
  EXPECT_EQ(runner_->start(launch).error().code, Error::kNoPermission);
}

TEST_F(ProcessRunnerTest, TheOutputIsCopied) {
  Launch launch = shell(1, "echo one");
  launch.spec.directory = spool_.path();
  launch.spec.output = "%j.out";
  EXPECT_EQ(run(launch).code, 0);
  EXPECT_EQ(text_of(spool_.path() + "/1.out"), "one\n");
  launch.id.attempt = 2;  // a later attempt goes on where the first one stopped
  launch.spec.command[2] = "echo two";
  EXPECT_EQ(run(launch).code, 0);
  EXPECT_EQ(text_of(spool_.path() + "/1.out"), "one\ntwo\n");
  // A pipe that nobody reads holds up nobody.
  ASSERT_EQ(::mkfifo((spool_.path() + "/2.out").c_str(), 0600), 0);
  launch.id = {2, 1};
  EXPECT_NE(run(launch).words.find("2.out"), std::string::npos);
}

TEST_F(ProcessRunnerTest, MuchOutputIsBounded) {
  options_.log_segment_bytes = 1 << 20;
  reopen();
  const AttemptExit exit = run(shell(1, "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo the end"));
  EXPECT_EQ(exit.code, 0);
  EXPECT_LE(std::filesystem::file_size(options_.spool + "/1/1/log"), 1u << 20);
  EXPECT_LE(std::filesystem::file_size(options_.spool + "/1/1/log.1"), 1u << 20);
  const std::string text = log({1, 1}), older = read_file(options_.spool + "/1/1/log.1").value();
  EXPECT_TRUE(older.starts_with("[smartmig: ")) << older.substr(0, 80);
  EXPECT_TRUE(text.ends_with("\nthe end\n"));
  EXPECT_NE(exit.words.find("bytes of its output were dropped"), std::string::npos) << exit.words;
}

TEST_F(ProcessRunnerTest, AFullDiskHoldsUpNobody) {
  const std::string small = spool_.path() + "/small";
  std::filesystem::create_directory(small);
  if (::mount("none", small.c_str(), "tmpfs", 0, "size=256k") != 0) GTEST_SKIP() << "needs root to mount a small disk";
  options_.spool = small + "/spool";
  auto opened = ProcessRunner::open(options_);
  ASSERT_TRUE(opened);
  runner_ = std::move(*opened);
  const AttemptExit exit = run(shell(1, "head -c 3000000 /dev/zero; exit 5"));
  EXPECT_EQ(exit.code, 5);
  EXPECT_NE(exit.words.find("were dropped"), std::string::npos) << exit.words;
  const auto kept = Spool::open(options_.spool)->read_exit({1, 1});
  ASSERT_TRUE(kept);
  ASSERT_TRUE(kept->has_value());
  EXPECT_EQ((*kept)->code, 5);
  const auto second = runner_->start(shell(2, "true"));  // no room for its record: nothing was started
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().what.find("No space left"), std::string::npos) << second.error().what;
  runner_.reset();
  ::umount2(small.c_str(), MNT_DETACH);
}

TEST_F(ProcessRunnerTest, StopSignalsTheGroupThenKills) {
  Launch launch = shell(1, "trap 'echo saved; exit 9' USR1; echo ready; while :; do sleep 0.05; done");
  start(launch);
  ASSERT_TRUE(wait_for_log({1, 1}, "ready"));
  ASSERT_TRUE(runner_->stop({1, 1}, SIGUSR1, Time(20'000'000), StopReason::kPreempt));
  AttemptExit exit = wait_for({1, 1});
  EXPECT_EQ(exit.code, 9);
  EXPECT_EQ(exit.ordered, StopReason::kPreempt);
  EXPECT_FALSE(exit.unasked);
  EXPECT_EQ(exit.words, "ended after SIGUSR1");
  EXPECT_NE(log({1, 1}).find("saved"), std::string::npos);

  start(shell(2, "trap '' TERM; echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(wait_for_log({2, 1}, "ready"));
  const auto before = std::chrono::steady_clock::now();
  ASSERT_TRUE(runner_->stop({2, 1}, SIGTERM, Time(20'000'000), StopReason::kPreempt));
  ASSERT_TRUE(runner_->stop({2, 1}, SIGTERM, Time(300'000), StopReason::kCancel));
  exit = wait_for({2, 1});
  EXPECT_EQ(exit.ordered, StopReason::kCancel) << "the last word counts";
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_EQ(exit.words, "killed, for it did not end after SIGTERM");
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  EXPECT_GE(took, 0.3);
  EXPECT_LT(took, 10);

  start(shell(3, "sleep 1000"));
  ASSERT_TRUE(runner_->stop({3, 1}, SIGTERM, Time(0)));  // at once, perhaps before its command runs
  EXPECT_NE(wait_for({3, 1}).signal, 0);
}

TEST_F(ProcessRunnerTest, TheSupervisorKeepsTheTimeLimit) {
  Launch launch = shell(1, "trap '' TERM; while :; do sleep 0.05; done");
  launch.spec.time_limit = Time(200'000);
  launch.spec.grace = Time(200'000);
  AttemptExit exit = run(launch);
  EXPECT_TRUE(exit.timed_out);
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_EQ(exit.words, "its time limit of 0.2 s passed; killed, for it did not end after SIGTERM");
  launch.id.job = 2;
  launch.spec.command[2] = "sleep 1000";
  exit = run(launch);
  EXPECT_TRUE(exit.timed_out);
  EXPECT_EQ(exit.signal, SIGTERM);
  launch.id.job = 3;
  launch.spec.time_limit = Time(30'000'000);
  launch.spec.command[2] = "true";
  EXPECT_FALSE(run(launch).timed_out);
}

// Once with what the machine offers and once without cgroups, as a plain user has it.
class Leftovers : public ProcessRunnerTest, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Cgroups, Leftovers, ::testing::Bool());

TEST_P(Leftovers, NothingOutlivesTheJob) {
  options_.use_cgroups = GetParam();
  reopen();
  // A daemon in a session of its own, twice forked, and a child that ignores everything.
  const std::string pids = spool_.path() + "/pids";
  const AttemptExit exit = run(shell(
      1, fmt::format(
             "(setsid sh -c 'sh -c \"echo \\$\\$ >>{0}; trap \\\"\\\" TERM HUP; sleep 1000; true\" & echo $$ >>{0}; "
             "sleep 1000; true' &) ; sleep 1000 & echo $! >>{0}; while [ $(wc -l <{0}) -lt 3 ]; do sleep 0.02; done; "
             "exit 4",
             pids)));
  EXPECT_EQ(exit.code, 4);
  std::istringstream list(text_of(pids));
  int count = 0;
  for (int pid = 0; list >> pid; ++count) EXPECT_FALSE(alive(pid)) << pid;
  EXPECT_EQ(count, 3);
}

TEST_P(Leftovers, AForkBombIsKilled) {
  options_.use_cgroups = GetParam();
  options_.most_processes = 300;
  reopen();
  Launch launch = shell(
      1,
      "ulimit -u 3000 2>/dev/null; n=0; while [ $n -lt 40 ]; do sh -c 'while :; do (setsid sleep 1000 &) ; sleep 0.01; "
      "done' & n=$((n+1)); done; echo ready; wait");
  start(launch);
  ASSERT_TRUE(wait_for_log({1, 1}, "ready"));
  ::usleep(200'000);
  const int supervisor = supervisor_of({1, 1});
  ASSERT_TRUE(runner_->stop({1, 1}, SIGKILL, Time(0)));
  EXPECT_EQ(wait_for({1, 1}).signal, SIGKILL);
  EXPECT_FALSE(alive(supervisor));
  EXPECT_EQ(kill_by_token({Spool::open(options_.spool)->read_record({1, 1})->token}), 0);
}

TEST_F(ProcessRunnerTest, CgroupLimitsHold) {
  Launch launch = shell(1, "exec python3 -c 'x = bytearray(300 << 20); print(len(x))'");
  if (::system("python3 -c 1 2>/dev/null") != 0) GTEST_SKIP() << "needs python3";
  if (runner_->words().find("memory") == std::string::npos) GTEST_SKIP() << runner_->words();
  launch.host_mem_mib = 64;
  launch.cpus = 0.5;
  const AttemptExit exit = run(launch);
  EXPECT_TRUE(exit.host_oom) << exit.words;
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_EQ(exit.words, "out of host memory (limit 64 MiB)");
  EXPECT_GE(exit.peak_host_mib, 30);
  EXPECT_LE(exit.peak_host_mib, 64);
  launch.id.job = 2;
  launch.host_mem_mib = 1024;
  EXPECT_EQ(run(launch).code, 0);
  const auto record = Spool::open(options_.spool)->read_record({2, 1});
  ASSERT_TRUE(record);
  EXPECT_FALSE(record->cgroups.empty());
  for (const std::string& path : record->cgroups) EXPECT_FALSE(std::filesystem::exists(path)) << path;
}

TEST_F(ProcessRunnerTest, DevicesAreFencedOff) {
  if (runner_->isolation() != "devices") GTEST_SKIP() << "no device cgroup here: " << runner_->words();
  Launch launch =
      shell(1,
            "head -c 1 /dev/zero >/dev/null && echo usual; head -c 1 /dev/kmsg >/dev/null 2>&1 || echo fenced; "
            "head -c 1 /dev/full >/dev/null && echo full");
  launch.device_nodes = {"/dev/null"};
  EXPECT_EQ(run(launch).code, 0);
  EXPECT_EQ(log({1, 1}), "usual\nfenced\nfull\n");
}

// The same on a machine with cgroup v2 alone: this one's mount of it, as if there were no other.
TEST_F(ProcessRunnerTest, DevicesAreFencedOffOnCgroupV2) {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);)
    if (line.find(" cgroup2 ") != line.npos) options_.cgroup_mounts += line + "\n";
  if (options_.cgroup_mounts.empty()) GTEST_SKIP() << "no cgroup v2 is mounted here";
  reopen();
  if (runner_->isolation() != "devices") GTEST_SKIP() << "the kernel takes no device program: " << runner_->words();
  Launch launch =
      shell(1,
            "head -c 1 /dev/zero >/dev/null && echo usual; head -c 1 /dev/kmsg >/dev/null 2>&1 || echo fenced; "
            "(head -c 1 /dev/full >/dev/null && echo full) & wait");
  launch.device_nodes = {"/dev/null"};
  EXPECT_EQ(run(launch).code, 0);
  EXPECT_EQ(log({1, 1}), "usual\nfenced\nfull\n");
  // A job that is given more opens more.
  Launch other = shell(2, "test -c /dev/kmsg && head -c 0 /dev/kmsg && echo open");
  other.device_nodes = {"/dev/kmsg"};
  EXPECT_EQ(run(other).code, 0);
  EXPECT_EQ(log({2, 1}), "open\n");
  for (const std::uint64_t job : {1, 2}) {
    const auto record = Spool::open(options_.spool)->read_record({job, 1});
    ASSERT_TRUE(record);
    for (const std::string& path : record->cgroups) EXPECT_FALSE(std::filesystem::exists(path)) << path;
  }
}

TEST_F(ProcessRunnerTest, ManyStartsLeakNothing) {
  EXPECT_EQ(run(shell(1000, "true")).code, 0);
  const int before = open_descriptors();
  for (int i = 1; i <= 200; ++i) {
    start(shell(std::uint64_t(i), "exit " + std::to_string(i % 7)));
    if (i % 20 != 0) continue;
    for (int k = i - 19; k <= i; ++k) EXPECT_EQ(wait_for({std::uint64_t(k), 1}).code, k % 7) << k;
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(runner_->watched(), 0u);
  for (int i = 1; i <= 200; ++i) runner_->forget(std::uint64_t(i));
}

TEST_F(ProcessRunnerTest, ThreadsOfOwnerAndWatcherAgree) {
  std::atomic<int> told{0};
  options_.on_exit = [&] { ++told; };
  reopen();
  for (std::uint64_t i = 1; i <= 20; ++i) {
    start(shell(i, "sleep 0.0" + std::to_string(i % 5)));
    if (i % 3 == 0) (void)runner_->stop({i, 1}, SIGTERM, Time(1'000'000));  // it may have ended already
    for (AttemptExit& one : runner_->poll()) ended_[one.id] = one;
  }
  for (std::uint64_t i = 1; i <= 20; ++i) EXPECT_EQ(wait_for({i, 1}).id.job, i);
  EXPECT_TRUE(wait_until([&] { return told == 20; }));
}

TEST_F(ProcessRunnerTest, SupervisorsAreSmall) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need memory of their own";
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers need memory of their own";
#endif
#endif
  start(shell(1, "echo up; sleep 1000"));
  ASSERT_TRUE(wait_for_log({1, 1}, "up"));
  const std::string status = text_of(fmt::format("/proc/{}/status", supervisor_of({1, 1})));
  const auto at = status.find("VmRSS:");
  ASSERT_NE(at, status.npos);
  const int kib = std::atoi(status.c_str() + at + 6);
  RecordProperty("supervisor_rss_kib", kib);
  EXPECT_LT(kib, 2048);
  ::kill(supervisor_of({1, 1}), SIGTERM);  // not minded
  ::usleep(50'000);
  ASSERT_TRUE(runner_->stop({1, 1}, SIGTERM, Time(5'000'000)));
  EXPECT_EQ(wait_for({1, 1}).signal, SIGTERM);
}

}  // namespace
}  // namespace smartmig
