#include "serve/daemon/recovery.h"

#include "support/daemon_parts.h"

namespace smartmig {
namespace {

struct Restarted : DaemonParts {
  // A record that says so, of an attempt that an earlier daemon began.
  JobRecord& record(const char* slice, JobStatus status) {
    JobRecord& job = accept(60);
    put_on(job, slice);
    job.status.found(status);
    job.times.started = job.times.first_started = clock.now() - std::chrono::minutes(20);
    return job;
  }
  void recover() {
    EXPECT_TRUE(find_running(runner, *state, *attempts, *ends, *suspensions, *transitions));
    tell_all();
  }
};

TEST(Recovery, WhatRunsIsFoundWhereItIs) {
  Restarted r;
  const JobRecord& job = r.record("3g@4", JobStatus::kRunning);
  r.runner.found.running = {attempt_of(job)};
  r.recover();
  EXPECT_EQ(job.status, JobStatus::kRunning);
  EXPECT_TRUE(r.state->attempts.under_way(job));
  EXPECT_EQ(r.state->attempts.holder({0, index(r.place("3g@4"))}), job.id);
  EXPECT_TRUE(r.believed(0).busy.contains(r.place("3g@4")));
  EXPECT_FALSE(r.believed(0).busy.contains(r.place("4g@0")));
  ASSERT_TRUE(r.state->session.expected_finish(job.id));
  EXPECT_GT(*r.state->session.expected_finish(job.id), r.clock.now()) << "it has what its estimate leaves";
}

TEST(Recovery, WhatNeverBeganWaitsAgainOrEnds) {
  Restarted r;
  JobRecord& lost = r.record("3g@4", JobStatus::kStarting);
  JobRecord& cancelled = r.record("4g@0", JobStatus::kStopping);
  cancelled.stop_reason = StopReason::kCancel;
  const QueueId gone = cancelled.id;
  r.recover();
  EXPECT_EQ(lost.status, JobStatus::kQueued);
  EXPECT_EQ(lost.place.gpu, -1);
  EXPECT_FALSE(r.state->attempts.under_way(lost));
  EXPECT_TRUE(r.state->attempts.slices().empty());
  EXPECT_FALSE(r.state->book.find(gone));
  EXPECT_EQ(r.state->figures.counts.ended[int(JobStatus::kCancelled)], 1u);
}

TEST(Recovery, WhatEndedMeanwhileIsToldByTheFirstStep) {
  Restarted r;
  const JobRecord& job = r.record("3g@4", JobStatus::kRunning);
  const QueueId id = job.id;
  AttemptExit exit;
  exit.id = attempt_of(job);
  exit.code = 0;
  exit.started = job.times.started;
  exit.ended = r.clock.now() - std::chrono::minutes(5);
  r.runner.found.ended = {exit};
  r.recover();
  ASSERT_TRUE(r.state->book.find(id));
  r.ends->take_exits();
  EXPECT_FALSE(r.state->book.find(id));
  const auto ended = r.state->book.take_ended();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].status, JobStatus::kDone);
  EXPECT_EQ(ended[0].times.ended, exit.ended) << "when it ended, not when it was noticed";
  EXPECT_TRUE(r.state->attempts.slices().empty());
}

TEST(Recovery, AJobOnAFailingBoardOrAboutToStopIsStopped) {
  Restarted r;
  JobRecord& runs = r.record("3g@4", JobStatus::kRunning);
  JobRecord& stopping = r.record("4g@0", JobStatus::kStopping);
  stopping.stop_reason = StopReason::kPreempt;
  r.runner.found.running = {attempt_of(runs), attempt_of(stopping)};
  ASSERT_TRUE(r.reshaper.quarantine().add({r.state->boards.at(0).board.uuid, "", "it burns"}));
  r.recover();
  EXPECT_EQ(runs.stop_reason, StopReason::kGpuFailed);
  EXPECT_EQ(stopping.stop_reason, StopReason::kPreempt);
  ASSERT_TRUE(r.commit());
  r.attempts->carry_out();
  EXPECT_EQ(r.runner.stopped, (std::vector<AttemptId>{attempt_of(runs), attempt_of(stopping)}));
}

TEST(Recovery, AJobWhoseSliceIsGoneRunsOnUnseen) {
  Restarted r;
  JobRecord& job = r.record("3g@4", JobStatus::kRunning);
  job.place.device = "MIG-of-long-ago";
  r.runner.found.running = {attempt_of(job)};
  r.recover();
  EXPECT_TRUE(r.state->attempts.under_way(job)) << "its exit will tell";
  EXPECT_TRUE(r.believed(0).busy.empty());
  EXPECT_NE(job.reason.find("is gone"), std::string::npos);
}

}  // namespace
}  // namespace smartmig
