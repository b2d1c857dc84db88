// The owner of the queue: what becomes of jobs.
#include "serve/daemon/daemon.h"

#include "support/cases.h"
#include "support/daemon_queue.h"

namespace smartmig {
namespace {

using Queue = TestQueue;

TEST(Daemon, RunsWhatIsSubmittedAndAccountsForIt) {
  Queue q;
  const auto a = q.submit(q.alice, 10), b = q.submit(q.bob, 5);
  q.run();
  for (const auto id : {a, b}) {
    const JobRecord job = q.ended(id);
    EXPECT_EQ(job.status, JobStatus::kDone) << job.reason;
    EXPECT_EQ(job.attempt, 1);
    EXPECT_GE(job.times.ended - job.times.started, from_minutes(4.9));
  }
  q.host->clock().wait_until(q.daemon().now() + from_seconds(30));
  q.daemon().step();
  const EnergyTotals energy = q.daemon().state().boards.meter().totals();
  EXPECT_GT(energy.jobs_j, 0);
  EXPECT_NEAR(energy.booked_j(), energy.jobs_j + energy.idle_j + energy.unattributed_j, 1e-6 * energy.booked_j());
  EXPECT_NEAR(q.ended(a).energy.joules + q.ended(b).energy.joules, energy.jobs_j, 1e-3 * energy.jobs_j);
}

TEST(Daemon, DependenciesWaitAndFail) {
  Queue q;
  const auto first = q.submit(q.alice, 2);
  const auto then = q.submit(q.alice, 2, [&](JobSpec& s) { s.dependencies = {{Dependency::kAfterOk, number(first)}}; });
  const auto never = q.submit(q.alice, 2, [&](JobSpec& s) {
    s.dependencies = {{Dependency::kAfterNotOk, number(first)}};
  });
  q.daemon().step();
  EXPECT_EQ(q.daemon().live_jobs().at(then).status, JobStatus::kHeld);
  q.run();
  EXPECT_EQ(q.ended(then).status, JobStatus::kDone);
  EXPECT_GE(q.ended(then).times.started, q.ended(first).times.ended);
  EXPECT_EQ(q.ended(never).status, JobStatus::kCancelled);
  EXPECT_NE(q.ended(never).reason.find("cannot be met"), std::string::npos);
}

TEST(Daemon, ArraysKeepTheirLimit) {
  Queue q("2xa100-40gb");
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
    q.host->clock().wait_until(q.daemon().next_due());
    q.daemon().step();
  }
  EXPECT_EQ(most, 2);
  EXPECT_EQ(q.daemon().counts().ended[int(JobStatus::kDone)], 8u);
}

TEST(Daemon, CancelsWaitingAndRunningJobs) {
  Queue q;
  const auto runs = q.submit(q.alice, 60), waits = q.submit(q.alice, 60, [](JobSpec&s) { s.min_slices = 7; });
  q.run(5);
  ASSERT_TRUE(q.daemon().jobs().cancel(runs, "enough"));
  ASSERT_TRUE(q.daemon().jobs().cancel(waits, "enough"));
  q.run(5);
  EXPECT_EQ(q.ended(runs).status, JobStatus::kCancelled);
  EXPECT_EQ(q.ended(waits).status, JobStatus::kCancelled);
  EXPECT_FALSE(q.daemon().jobs().cancel(runs, "again"));
  EXPECT_TRUE(q.daemon().cluster().gpu(GpuId(0)).busy.empty());
}

TEST(Daemon, ARestartFindsTheQueueAsItWas) {
  Queue q;
  const auto a = q.submit(q.alice, 30);
  q.run(1);
  q.submit(q.bob, 30, [](JobSpec& s) { s.min_slices = 7; });
  q.run(3);
  q.host.reset();
  q.open("1xa100-40gb");
  EXPECT_EQ(q.daemon().live_jobs().size(), 2u);
  q.daemon().step();
  const JobRecord job = q.ended(a);  // without processes a job ends with its daemon
  EXPECT_EQ(job.status, JobStatus::kFailed) << job.reason;
  q.run();
  EXPECT_EQ(q.daemon().counts().ended[int(JobStatus::kDone)], 1u);
}

TEST(Daemon, ManyJobsStayWithinTheBelief) {
  Queue q("2xa100-40gb", [](DaemonHostOptions& o) {
    o.settings.limits.window = 64;
    o.settings.energy.sample = from_minutes(1);
  });
  const int jobs = std::max(200, cases(600));
  for (int i = 0; i < jobs; ++i) q.submit(i % 2 ? q.alice : q.bob, 1 + i % 7);
  q.run();
  EXPECT_EQ(q.daemon().counts().ended[int(JobStatus::kDone)], std::uint64_t(jobs));
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

TEST(Daemon, APrioritySurvivesARestartHoweverItAddsUp) {
  Queue q("1xa100-40gb", [](DaemonHostOptions& o) { o.settings.limits.priorities["1001"] = -10; });
  q.daemon().pause(true);
  q.submit(q.alice, 10, [](JobSpec& spec) { spec.priority = -1'000'000; });
  q.daemon().step();
  q.host.reset();
  q.open("1xa100-40gb");
  EXPECT_EQ(q.daemon().live_jobs().size(), 1u);
}

}  // namespace
}  // namespace smartmig
