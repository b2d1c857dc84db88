// A daemon on emulated GPUs and a virtual clock, made from settings as a file would give them: days pass in a moment.
#pragma once
#include <gtest/gtest.h>

#include "queue/jobs/job_json.h"
#include "serve/api/daemon_host.h"
#include "support/temp_dir.h"

namespace smartmig {

class EmulatedDaemon {
 public:
  // Where `settings` names no state directory or GPUs, these are: a directory of its own, one A100.
  explicit EmulatedDaemon(Settings settings, bool processes = false, std::string clock = "virtual") {
    if (settings.places.state_dir.empty()) settings.places.state_dir = dir_.path();
    if (settings.places.driver == "nvml") settings.places.driver = "emulate:1xa100-40gb";
    if (settings.energy.sample == Settings().energy.sample) settings.energy.sample = from_seconds(60);  // fewer steps
    DaemonHostOptions options;
    options.settings = std::move(settings);
    options.clock = std::move(clock);
    options.in_process = !processes;
    options.emulation_seed = 7;
    auto opened = DaemonHost::open(std::move(options));
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().what);
    if (opened) host_ = std::move(*opened);
  }
  Daemon& daemon() { return host_->daemon(); }
  DaemonHost& host() { return *host_; }

  // 0: refused.
  QueueId submit(double minutes, const std::function<void(JobSpec&)>& change = {}, std::uint32_t uid = 1001) {
    JobSpec spec;
    spec.command = {"train"};
    spec.directory = "/";
    if (minutes > 0) spec.estimate = from_minutes(minutes);
    if (change) change(spec);
    std::vector<std::string> warnings;
    const auto ids = daemon().jobs().submit({uid, uid, uid == 0}, {spec}, warnings);
    return ids ? ids->front() : kNoId;
  }
  // Calls `see` after each step, for so many minutes or until no job is left.
  void run(double minutes, const std::function<void()>& see = {}) {
    const UnixTime end = daemon().now() + from_minutes(minutes);
    do {
      daemon().step();
      if (see) see();
      if (daemon().live_jobs().empty()) return;
      host_->clock().wait_until(std::min(end, daemon().next_due()));
    } while (daemon().now() < end);
  }
  // So much time passes at once; then all that is due happens once.
  void jump(Time time) {
    const UnixTime end = daemon().now() + time;
    while (daemon().now() < end) host_->clock().wait_until(end);
    for (int i = 0; i < 3; ++i) daemon().step();
  }
  int running() {
    int count = 0;
    for (const auto& [id, job] : daemon().live_jobs()) count += job.status == JobStatus::kRunning;
    return count;
  }
  const JobRecord& live(QueueId id) { return daemon().live_jobs().at(id); }
  JobRecord ended(QueueId id) {
    const auto row = host_->store().job(number(id));
    return row && *row ? from_row(**row).value() : JobRecord();
  }

 private:
  TempDir dir_;
  std::unique_ptr<DaemonHost> host_;
};

}  // namespace smartmig
