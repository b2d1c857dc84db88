// A queue on emulated GPUs, a virtual clock and jobs without processes: a day passes in a moment, and what happens is the
// same each time. Told times are right, and believed.
#pragma once
#include <gtest/gtest.h>

#include <future>

#include "queue/jobs/job_json.h"
#include "serve/api/daemon_host.h"
#include "support/temp_dir.h"

namespace smartmig {

struct TestQueue {
  TempDir dir;
  std::unique_ptr<DaemonHost> host;
  std::vector<std::string> warnings;
  Caller alice{1001, 1001, false}, bob{1002, 1002, false};

  explicit TestQueue(const std::string& gpus = "1xa100-40gb", std::function<void(DaemonHostOptions&)> change = {}) {
    open(gpus, change);
  }
  void open(const std::string& gpus, std::function<void(DaemonHostOptions&)> change = {}) {
    DaemonHostOptions options;
    options.settings.places.driver = "emulate:" + gpus;
    options.settings.places.state_dir = dir.path();
    options.settings.energy.sample = from_seconds(10);
    options.clock = "virtual";
    options.in_process = true;
    options.emulation_seed = 7;
    options.settings.defaults.exact_estimates = true;
    if (change) change(options);
    auto opened = DaemonHost::open(std::move(options));
    ASSERT_TRUE(opened) << opened.error().what;
    host = std::move(*opened);
  }
  Daemon& daemon() { return host->daemon(); }
  QueueId submit(const Caller& who, double minutes, std::function<void(JobSpec&)> change = {}) {
    JobSpec spec;
    spec.command = {"train"};
    spec.directory = "/";
    spec.estimate = from_minutes(minutes);
    if (change) change(spec);
    const auto ids = daemon().jobs().submit(who, {spec}, warnings);
    EXPECT_TRUE(ids) << ids.error().what;
    return ids ? ids->front() : kNoId;
  }
  // Until nothing is left to do, or so many minutes have passed.
  void run(double minutes = 1e6) {
    const UnixTime end = daemon().now() + from_minutes(minutes);
    daemon().step();
    while (!daemon().live_jobs().empty() && daemon().now() < end) {
      host->clock().wait_until(std::min(end, daemon().next_due()));
      daemon().step();
    }
  }
  JobRecord ended(QueueId id) {
    const auto row = host->store().job(number(id));
    EXPECT_TRUE(row && *row) << number(id);
    return row && *row ? from_row(**row).value() : JobRecord();
  }
};

// The service asks the owner from another thread; here the owner answers in between.
template <class T>
Result<T> answered(TestQueue& q, std::function<Result<T>(DaemonService&)> question) {
  auto answer = std::async(std::launch::async, [&] { return question(q.host->service()); });
  while (answer.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) q.daemon().step();
  return answer.get();
}

}  // namespace smartmig
