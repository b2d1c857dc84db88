// Tests of the process runner: a spool in memory, launches of shell commands, waiting with a limit.
#pragma once
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "live/jobs/process_runner.h"
#include "support/temp_dir.h"

namespace smartmig {

inline std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline bool wait_until(const std::function<bool()>& done, double limit_s = 20) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::usleep(2000);
  }
  return true;
}

// As in /proc/PID/stat: 'R', 'S', 'T' (stopped), ...; 0: there is no such process.
inline char state_of(int pid) {
  const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
  const auto name = stat.rfind(')');
  return name != stat.npos && stat.size() > name + 2 ? stat[name + 2] : '\0';
}

inline bool alive(int pid) {
  const char state = state_of(pid);
  return state != '\0' && state != 'Z' && state != 'X';
}

class ProcessRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_supervisor()) GTEST_SKIP() << find_supervisor().error().what;
    reopen();
  }
  void reopen() {
    runner_.reset();
    options_.spool = spool_.path() + "/spool";
    auto opened = ProcessRunner::open(options_);
    ASSERT_TRUE(opened) << opened.error().what;
    runner_ = std::move(*opened);
  }
  static Launch shell(std::uint64_t job, const std::string& text, int attempt = 1) {
    Launch launch;
    launch.id = {job, attempt};
    launch.spec.command = {"sh", "-c", text};
    launch.spec.directory = "/";
    launch.spec.environment = {"PATH=/usr/bin:/bin", "COLOUR=blue"};
    launch.uid = ::geteuid();
    launch.gid = ::getegid();
    return launch;
  }
  void start(const Launch& launch) {
    const auto started = runner_->start(launch);
    ASSERT_TRUE(started) << started.error().what;
  }
  AttemptExit wait_for(AttemptId id) {
    AttemptExit exit;
    exit.words = "the test waited in vain";
    wait_until([&] {
      for (AttemptExit& one : runner_->poll()) ended_[one.id] = one;
      return ended_.count(id) > 0;
    });
    return ended_.count(id) ? ended_[id] : exit;
  }
  AttemptExit run(const Launch& launch) {
    start(launch);
    return wait_for(launch.id);
  }
  std::string log(AttemptId id) const { return text_of(runner_->log_path(id)); }
  bool wait_for_log(AttemptId id, const std::string& part) {
    return wait_until([&] { return log(id).find(part) != std::string::npos; });
  }
  int supervisor_of(AttemptId id) const {
    const auto record = Spool::open(options_.spool)->read_record(id);
    return record ? record->pid : -1;
  }

  TempDir spool_;
  ProcessRunnerOptions options_;
  std::unique_ptr<ProcessRunner> runner_;
  std::map<AttemptId, AttemptExit> ended_;
};

}  // namespace smartmig
