// The owner of the queue on emulated GPUs, a virtual clock and jobs without processes: a day passes in a moment, and
// what happens is the same each time.
#include "serve/daemon/daemon.h"

#include <gtest/gtest.h>

#include <future>

#include "serve/daemon/job_json.h"
#include "serve/daemon/station.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

struct Queue {
  TempDir dir;
  std::unique_ptr<Station> station;
  std::vector<std::string> warnings;
  Caller alice{1001, 1001, false}, bob{1002, 1002, false};

  explicit Queue(const std::string& gpus = "1xa100-40gb", std::function<void(StationOptions&)> change = {}) {
    open(gpus, change);
  }
  void open(const std::string& gpus, std::function<void(StationOptions&)> change = {}) {
    StationOptions options;
    options.settings.places.driver = "emulate:" + gpus;
    options.settings.places.state_dir = dir.path();
    options.settings.energy.sample = from_seconds(10);
    options.clock = "virtual";
    options.in_process = true;
    options.emulation_seed = 7;
    if (change) change(options);
    auto opened = Station::open(std::move(options));
    ASSERT_TRUE(opened) << opened.error().what;
    station = std::move(*opened);
  }
  Daemon& daemon() { return station->daemon(); }
  std::uint64_t submit(const Caller& who, double minutes, std::function<void(JobSpec&)> change = {}) {
    JobSpec spec;
    spec.command = {"train"};
    spec.directory = "/";
    spec.estimate = from_minutes(minutes);
    if (change) change(spec);
    const auto ids = daemon().submit(who, {spec}, warnings);
    EXPECT_TRUE(ids) << ids.error().what;
    return ids ? ids->front() : 0;
  }
  // Until nothing is left to do, or so many minutes have passed.
  void run(double minutes = 1e6) {
    const Time end = daemon().now() + from_minutes(minutes);
    daemon().step();
    while (!daemon().live_jobs().empty() && daemon().now() < end) {
      station->clock().wait_until(std::min(end, daemon().next_due()));
      daemon().step();
    }
  }
  JobRecord ended(std::uint64_t id) {
    const auto row = station->store().job(id);
    EXPECT_TRUE(row && *row) << id;
    return row && *row ? from_row(**row).value() : JobRecord();
  }
};

TEST(Daemon, RunsWhatIsSubmittedAndAccountsForIt) {
  Queue q;
  const auto a = q.submit(q.alice, 10), b = q.submit(q.bob, 5);
  q.run();
  for (const auto id : {a, b}) {
    const JobRecord job = q.ended(id);
    EXPECT_EQ(job.status, JobStatus::kDone) << job.reason;
    EXPECT_EQ(job.attempt, 1);
    EXPECT_GE(job.ended - job.started, from_minutes(4.9));
  }
  q.station->clock().wait_until(q.daemon().now() + from_seconds(30));
  q.daemon().step();
  const EnergyTotals energy = q.daemon().meter().totals();
  EXPECT_GT(energy.jobs_j, 0);
  EXPECT_NEAR(energy.booked_j(), energy.jobs_j + energy.idle_j + energy.unattributed_j, 1e-6 * energy.booked_j());
  EXPECT_NEAR(q.ended(a).joules + q.ended(b).joules, energy.jobs_j, 1e-3 * energy.jobs_j);
}

TEST(Daemon, DependenciesWaitAndFail) {
  Queue q;
  const auto first = q.submit(q.alice, 2);
  const auto then = q.submit(q.alice, 2, [&](JobSpec& s) { s.dependencies = {{Dependency::kAfterOk, first}}; });
  const auto never = q.submit(q.alice, 2, [&](JobSpec& s) { s.dependencies = {{Dependency::kAfterNotOk, first}}; });
  q.daemon().step();
  EXPECT_EQ(q.daemon().live_jobs().at(then).status, JobStatus::kHeld);
  q.run();
  EXPECT_EQ(q.ended(then).status, JobStatus::kDone);
  EXPECT_GE(q.ended(then).started, q.ended(first).ended);
  EXPECT_EQ(q.ended(never).status, JobStatus::kCancelled);
  EXPECT_NE(q.ended(never).reason.find("can never hold"), std::string::npos);
}

TEST(Daemon, ArraysKeepTheirLimit) {
  Queue q;
  q.submit(q.alice, 3, [](JobSpec& s) {
    s.array = {0, 1, 2, 3, 4, 5, 6, 7};
    s.array_limit = 2;
    s.mem_mib = 1000;
  });
  EXPECT_EQ(q.daemon().live_jobs().size(), 8u);
  q.daemon().step();
  int most = 0;
  while (!q.daemon().live_jobs().empty()) {
    int running = 0;
    for (const auto& [id, job] : q.daemon().live_jobs()) running += job.status == JobStatus::kRunning;
    most = std::max(most, running);
    q.station->clock().wait_until(q.daemon().next_due());
    q.daemon().step();
  }
  EXPECT_EQ(most, 2);
  EXPECT_EQ(q.daemon().counts().ended[int(JobStatus::kDone)], 8u);
}

TEST(Daemon, CancelsWaitingAndRunningJobs) {
  Queue q;
  const auto runs = q.submit(q.alice, 60), waits = q.submit(q.alice, 60, [](JobSpec&s) { s.min_slices = 7; });
  q.run(5);
  ASSERT_TRUE(q.daemon().cancel(runs, "enough"));
  ASSERT_TRUE(q.daemon().cancel(waits, "enough"));
  q.run(5);
  EXPECT_EQ(q.ended(runs).status, JobStatus::kCancelled);
  EXPECT_EQ(q.ended(waits).status, JobStatus::kCancelled);
  EXPECT_FALSE(q.daemon().cancel(runs, "again"));
  EXPECT_TRUE(q.daemon().cluster().gpu(GpuId(0)).busy.empty());
}

TEST(Daemon, ARestartFindsTheQueueAsItWas) {
  Queue q;
  const auto a = q.submit(q.alice, 30);
  q.run(1);
  q.submit(q.bob, 30, [](JobSpec& s) { s.min_slices = 7; });
  q.run(3);
  q.station.reset();
  q.open("1xa100-40gb");
  EXPECT_EQ(q.daemon().live_jobs().size(), 2u);
  q.daemon().step();
  const JobRecord job = q.ended(a);  // without processes a job ends with its daemon
  EXPECT_EQ(job.status, JobStatus::kFailed) << job.reason;
  q.run();
  EXPECT_EQ(q.daemon().counts().ended[int(JobStatus::kDone)], 1u);
}

TEST(Daemon, ManyJobsStayWithinTheBelief) {
  Queue q("2xa100-40gb", [](StationOptions& o) { o.settings.limits.window = 64; });
  for (int i = 0; i < 600; ++i) q.submit(i % 2 ? q.alice : q.bob, 1 + i % 7);
  q.run();
  EXPECT_EQ(q.daemon().counts().ended[int(JobStatus::kDone)], 600u);
  EXPECT_EQ(q.daemon().counts().refused, 0u);
}

TEST(Daemon, ADrainedGpuRunsOutAndComesBack) {
  Queue q("2xa100-40gb");
  ASSERT_TRUE(q.daemon().drain(0, true));
  const auto whole = [](JobSpec& spec) { spec.min_slices = 7; };
  q.submit(q.alice, 10, whole);
  q.submit(q.alice, 10, whole);
  q.run(1);
  EXPECT_TRUE(q.daemon().cluster().gpu(GpuId(0)).busy.empty());
  EXPECT_FALSE(q.daemon().cluster().gpu(GpuId(1)).busy.empty());
  ASSERT_TRUE(q.daemon().drain(0, false));
  q.run(1);
  EXPECT_FALSE(q.daemon().cluster().gpu(GpuId(0)).busy.empty());
  EXPECT_FALSE(q.daemon().drain(7, true));
  q.run();
}

// The service asks the owner from another thread; here the owner answers in between.
template <class T>
Result<T> answered(Queue& q, std::function<Result<T>(DaemonService&)> question) {
  auto answer = std::async(std::launch::async, [&] { return question(q.station->service()); });
  while (answer.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) q.daemon().step();
  return answer.get();
}

TEST(Daemon, WhyEtaAndWhatifLookIntoTheFuture) {
  Queue q;
  q.submit(q.alice, 60, [](JobSpec& s) { s.min_slices = 7; });
  q.run(1);
  const auto waits = q.submit(q.bob, 30, [&](JobSpec& s) {
    s.min_slices = 7;
    s.deadline = q.daemon().now() + from_minutes(40);
  });
  q.run(1);
  using J = Service::Json;
  const auto why = answered<J>(q, [&](DaemonService& s) { return s.why(q.bob, waits); });
  ASSERT_TRUE(why) << why.error().what;
  EXPECT_EQ((*why)["code"], "slices_busy") << why->dump();
  EXPECT_GE((*why)["alternatives"].size(), 2u);
  const auto eta = answered<J>(q, [&](DaemonService& s) { return s.eta(q.bob, waits); });
  ASSERT_TRUE(eta) << eta.error().what;
  const double start = (*eta)["start_at"]["p50"].get<double>();
  EXPECT_NEAR(start, seconds(q.daemon().now()) + 58 * 60, 30 * 60) << eta->dump();
  EXPECT_LE((*eta)["start_at"]["p10"].get<double>(), start);
  EXPECT_LT((*eta)["on_time_ratio"].get<double>(), 0.5);
  const auto more = answered<J>(q, [&](DaemonService& s) { return s.whatif(q.bob, {{"add_gpus", "1xa100-40gb"}}); });
  ASSERT_TRUE(more) << more.error().what;
  EXPECT_LT((*more)["then"]["late_s"].get<double>(), (*more)["now"]["late_s"].get<double>());
  const auto job = answered<J>(q, [&](DaemonService& s) {
    return s.whatif(q.bob, {{"job", {{"command", {"x"}}, {"directory", "/"}, {"estimate_s", 60}}}});
  });
  ASSERT_TRUE(job) << job.error().what;
  EXPECT_EQ((*job)["jobs"].size(), 3u);
  EXPECT_FALSE(answered<J>(q, [&](DaemonService& s) { return s.whatif(q.bob, {{"polic", "x"}}); }));
  EXPECT_FALSE(answered<J>(q, [&](DaemonService& s) { return s.eta(q.bob, 999); }));
}

TEST(Daemon, RightsAreTheOwnersAndTheOperators) {
  Queue q;
  const auto id = q.submit(q.alice, 10);
  using J = Service::Json;
  EXPECT_EQ(answered<J>(q, [&](DaemonService& s) { return s.cancel(q.bob, id); }).error().code, Error::kNoPermission);
  EXPECT_EQ(answered<J>(q, [&](DaemonService& s) { return s.requeue(q.bob, id); }).error().code, Error::kNoPermission);
  EXPECT_EQ(answered<Service::Log>(q, [&](DaemonService& s) { return s.log(q.bob, id, 0); }).error().code,
            Error::kNoPermission);
  EXPECT_EQ(answered<J>(q, [&](DaemonService& s) { return s.set_gpu(q.alice, 0, true); }).error().code,
            Error::kNoPermission);
  EXPECT_EQ(answered<J>(q, [&](DaemonService& s) { return s.set_queue(q.alice, true); }).error().code,
            Error::kNoPermission);
  EXPECT_EQ(answered<J>(q, [&](DaemonService& s) { return s.backup(q.alice, "/tmp/x"); }).error().code,
            Error::kNoPermission);
  JobSpec high;
  high.command = {"x"};
  high.directory = "/";
  high.priority = 5;
  EXPECT_EQ(q.daemon().submit(q.alice, {high}, q.warnings).error().code, Error::kNoPermission);
  EXPECT_TRUE(answered<J>(q, [&](DaemonService& s) { return s.cancel(q.alice, id); }));
}

TEST(Daemon, ASpecIsForItsOwnerAndTheOperator) {
  Queue q;
  using J = Service::Json;
  const auto id = q.submit(q.alice, 10, [](JobSpec& spec) { spec.script = "#!/bin/sh\npassword=1\n"; });
  const auto seen = [&](const Caller& who) { return answered<J>(q, [&](DaemonService& s) { return s.job(who, id); }); };
  EXPECT_TRUE(seen(q.alice)->contains("spec"));
  EXPECT_TRUE(seen({0, 0, true})->contains("spec"));
  ASSERT_TRUE(seen(q.bob));
  EXPECT_EQ(seen(q.bob)->dump().find("password"), std::string::npos);
}

TEST(Daemon, ACapOnWaitingJobsHoldsForNewAndForRequeuedOnes) {
  Queue q("1xa100-40gb", [](StationOptions& o) { o.settings.limits.user_queued = 2; });
  const auto done = q.submit(q.alice, 1);
  q.run();
  q.daemon().pause(true);
  q.submit(q.alice, 1);
  q.submit(q.alice, 1);
  JobSpec third;
  third.command = {"x"};
  third.directory = "/";
  EXPECT_EQ(q.daemon().submit(q.alice, {third}, q.warnings).error().code, Error::kBusy);
  EXPECT_EQ(q.daemon().requeue(done, false).error().code, Error::kBusy);
  EXPECT_TRUE(q.daemon().submit(q.bob, {third}, q.warnings)) << "another user's";
  EXPECT_TRUE(q.daemon().requeue(done)) << "the operator's";
}

TEST(Daemon, SaysThatADeadlineCannotBeKept) {
  Queue q;
  const auto due = [&](double minutes) {
    return [&q, minutes](JobSpec& spec) { spec.deadline = q.daemon().now() + from_minutes(minutes); };
  };
  q.submit(q.alice, 10, due(20));
  EXPECT_TRUE(q.warnings.empty());
  q.submit(q.alice, 10, due(5));
  ASSERT_EQ(q.warnings.size(), 1u);
  EXPECT_EQ(q.warnings[0], "the deadline is in 300 s, and on a whole GPU the job takes 600 s: it will be late");
  q.submit(q.alice, 10, [](JobSpec& spec) { spec.deadline = Time{0}; });
  ASSERT_EQ(q.warnings.size(), 2u);
  EXPECT_NE(q.warnings[1].find("passed"), std::string::npos);
}

TEST(Daemon, APrioritySurvivesARestartHoweverItAddsUp) {
  Queue q("1xa100-40gb", [](StationOptions& o) { o.settings.limits.priorities["1001"] = -10; });
  q.daemon().pause(true);
  q.submit(q.alice, 10, [](JobSpec& spec) { spec.priority = -1'000'000; });
  q.daemon().step();
  q.station.reset();
  q.open("1xa100-40gb");
  EXPECT_EQ(q.daemon().live_jobs().size(), 1u);
}

TEST(Daemon, PowerCapsHold) {
  Queue q("2xa100-40gb", [](StationOptions& o) { o.settings.power.fleet_cap_w = 330; });
  for (int i = 0; i < 12; ++i) q.submit(q.alice, 5);
  q.daemon().step();
  while (!q.daemon().live_jobs().empty()) {
    double watts = 0;
    for (const GpuState& gpu : q.daemon().cluster().gpus()) watts += gpu.watts;
    ASSERT_LE(watts, 330);
    q.station->clock().wait_until(q.daemon().next_due());
    q.daemon().step();
  }
  EXPECT_EQ(q.daemon().counts().ended[int(JobStatus::kDone)], 12u);
}

TEST(Daemon, TheShadowTellsWhatItWouldHaveDoneAndCost) {
  Queue q("2xa100-40gb", [](StationOptions& o) {
    o.settings.policy.shadow = "none+edf";
    o.settings.prices.energy_per_kwh = 0.3;
    o.settings.prices.late_per_hour = 1;
  });
  for (int i = 0; i < 40; ++i) q.submit(q.alice, 5 + i % 9);
  q.run();
  EXPECT_GT(q.daemon().counts().shadow_differences, 0u);
  const Json report = q.daemon().shadow_json();
  EXPECT_GT(report["compared"]["shadow"]["cost"].get<double>(), 0) << report.dump();
  EXPECT_EQ(q.daemon().counts().ended[int(JobStatus::kDone)], 40u);
}

TEST(Daemon, ALearnedPolicyIsGuarded) {
  Queue q("1xa100-40gb", [](StationOptions& o) { o.settings.policy.name = "guard(meanfield+cedf)"; });
  for (int i = 0; i < 30; ++i) q.submit(q.alice, 5 + i % 9);
  q.run();
  EXPECT_EQ(q.daemon().counts().ended[int(JobStatus::kDone)], 30u);
  EXPECT_EQ(q.daemon().policies().name(), "guard(meanfield+cedf)");
}

}  // namespace
}  // namespace smartmig
