#include "serve/daemon/reconcile.h"

#include "queue/jobs/job_json.h"
#include "serve/attempts/prelaunches.h"
#include "serve/daemon/recovery.h"
#include "support/daemon_parts.h"

namespace smartmig {
namespace {

struct Restored : DaemonParts {
  // An attempt that the runner has, on a slice of GPU 0.
  void left(std::uint64_t job, int attempt, const char* slice, bool runs, bool with_origin = true) {
    JobRunner::Left one{{job, attempt}, std::nullopt};
    if (with_origin) {
      one.origin.emplace();
      one.origin->spec.command = {"later"};
      one.origin->spec.directory = "/";
      one.origin->uid = one.origin->gid = 1007;
      one.origin->user = "eve";
      one.origin->device = state->boards.device(0, place(slice));
    }
    runner.left_here.push_back(one);
    if (runs) {
      runner.found.running.push_back(one.id);
      return;
    }
    AttemptExit exit;
    exit.id = one.id;
    exit.code = 0;
    exit.started = exit.ended = clock.now();
    runner.found.ended.push_back(exit);
  }
  void recover(std::uint64_t last_stored, bool restored = true) {
    EXPECT_TRUE(reconcile(runner, *state, last_stored, restored));
    EXPECT_TRUE(find_running(runner, *state, *attempts, *ends, *suspensions, *transitions));
    tell_all();
    ends->take_exits();
  }
  JobStatus stored_status(std::uint64_t id) {
    EXPECT_TRUE(commit());
    return state->book.status_of(QueueId(id));
  }
};

TEST(Reconcile, AJobOfTheTimeAfterTheBackupIsTakenOverWithItsSlice) {
  Restored r;
  r.left(41, 2, "3g@4", true);
  r.recover(7);
  const JobRecord* job = r.state->book.find(QueueId(41));
  ASSERT_TRUE(job);
  EXPECT_EQ(job->status, JobStatus::kRunning);
  EXPECT_EQ(job->attempt, 2);
  EXPECT_EQ(job->owner.name, "eve");
  EXPECT_EQ(r.state->attempts.holder({0, index(r.place("3g@4"))}), QueueId(41)) << "nobody else starts there";
  EXPECT_TRUE(r.believed(0).busy.contains(r.place("3g@4")));
  EXPECT_EQ(number(r.state->book.next_id()), 42u);
}

TEST(Reconcile, AWaitingJobThatRanSinceIsNotRunAgain) {
  Restored r;
  const QueueId done = r.accept().id, runs = r.accept().id;
  r.left(number(done), 1, "4g@0", false);  // and then the other on the same slice
  r.left(number(runs), 1, "4g@0", true);
  r.recover(number(runs));
  EXPECT_FALSE(r.state->book.find(done));
  EXPECT_EQ(r.stored_status(number(done)), JobStatus::kDone);
  EXPECT_EQ(r.state->book.find(runs)->status, JobStatus::kRunning);
  EXPECT_EQ(r.state->attempts.holder({0, index(r.place("4g@0"))}), runs);
  EXPECT_EQ(r.state->attempts.slices().size(), 1u) << "the one that ended keeps no slice";
}

// An order since the backup has ended it. The order is not in the queue any more; what it did is seen.
struct Ordered : Restored {
  JobRecord& ended(StopReason order, int code, int signal) {
    JobRecord& job = accept(10, [](JobRecord& j) { j.spec.checkpoint_signal = 10; });
    put_on(job, "3g@4");
    left(number(job.id), 1, "3g@4", false);
    AttemptExit& exit = runner.found.ended.back();
    exit.code = code;
    exit.signal = signal;
    exit.ordered = order;
    return job;
  }
};

TEST(Reconcile, OneThatWasCancelledSinceTheBackupIsCancelled) {
  Ordered r;
  const QueueId id = r.ended(StopReason::kCancel, -1, 15).id;
  r.recover(number(id));
  EXPECT_EQ(r.stored_status(number(id)), JobStatus::kCancelled);
  EXPECT_EQ(from_row(*r.state->book.stored(id).value())->reason,
            "it was stopped by an order that is missing from the restored queue");
}

TEST(Reconcile, OneThatWasRequeuedOrStoppedSinceTheBackupRunsAgain) {
  Ordered r;
  for (const StopReason order : {StopReason::kRequeue, StopReason::kPreempt}) {
    const QueueId id = r.ended(order, 0, 0).id;
    r.recover(number(id));
    ASSERT_TRUE(r.state->book.find(id)) << "that it ended with 0 does not make it done";
    EXPECT_EQ(r.state->book.find(id)->status, JobStatus::kQueued);
    EXPECT_EQ(r.state->book.find(id)->stop_reason, StopReason::kNone);
    r.transitions->finish(*r.state->book.find(id), JobStatus::kCancelled, "", false);
  }
}

// The record's attempt began ahead of its slice; the one since did not, so it did not give up waiting for one.
TEST(Reconcile, ALaterAttemptThatHadItsSliceFromTheBeginningEndsAsItEnds) {
  Restored r;
  JobRecord& job = r.accept(10, [](JobRecord& j) { j.spec.prelaunch = true; });
  const QueueId id = job.id;
  r.put_on(job, "3g@4");
  job.prelaunch.began = r.clock.now();
  r.left(number(id), 2, "4g@0", true);
  r.recover(number(id));
  ASSERT_TRUE(r.state->book.find(id));
  EXPECT_EQ(r.state->book.find(id)->prelaunch.began, kNotYet);
  AttemptExit exit;
  exit.id = {number(id), 2};
  exit.code = 0;
  exit.started = exit.ended = r.clock.now();
  r.runner.exits.push_back(exit);
  r.ends->take_exits();
  EXPECT_FALSE(r.state->book.find(id)) << r.state->book.find(id)->reason;
  EXPECT_EQ(r.stored_status(number(id)), JobStatus::kDone);
}

// Its processes wait for a slice; the reservation that it runs in was made after the backup.
TEST(Reconcile, OneAheadOfItsSliceWhoseReservationIsUnknownIsHeldAndGivesItsProcessesUp) {
  Restored r;
  r.left(41, 1, "3g@4", true);
  AttemptOrigin& origin = *r.runner.left_here.back().origin;
  origin.held = true;
  origin.device.clear();
  origin.spec.prelaunch = true;
  origin.spec.reservation = "night";
  r.recover(7);
  const JobRecord* job = r.state->book.find(QueueId(41));
  ASSERT_TRUE(job);
  EXPECT_EQ(job->status, JobStatus::kHeld) << "no policy would ever see it";
  EXPECT_NE(job->reason.find("has lost its reservation"), std::string::npos) << job->reason;
  Prelaunches prelaunches(r.state->settings, r.runner, false, r.state->session, r.state->book, r.state->attempts,
                          *r.attempts);
  prelaunches.give_up_held();
  ASSERT_TRUE(r.commit());
  r.attempts->carry_out();
  EXPECT_EQ(r.runner.stopped, (std::vector<AttemptId>{{41, 1}}));
  AttemptExit exit;
  exit.id = {41, 1};
  exit.signal = 15;
  exit.started = exit.ended = r.clock.now();
  r.runner.exits.push_back(exit);
  r.ends->take_exits();
  EXPECT_EQ(job->status, JobStatus::kHeld) << job->reason;
}

TEST(Reconcile, WhatIsAliveHasItsSliceBeforeWhatTheRecordsHaveThere) {
  Restored r;
  JobRecord& ended = r.accept();  // ran when the backup was made
  r.put_on(ended, "3g@4");
  const QueueId first = ended.id, second = r.accept().id, third = r.accept().id;
  r.left(number(first), 1, "3g@4", false);
  r.left(number(second), 1, "3g@4", true);
  r.recover(number(third));
  EXPECT_FALSE(r.state->book.find(first)) << "its end was told";
  EXPECT_EQ(r.state->book.find(second)->status, JobStatus::kRunning);
  EXPECT_EQ(r.state->attempts.holder({0, index(r.place("3g@4"))}), second);
  EXPECT_TRUE(r.believed(0).busy.contains(r.place("3g@4")));
  EXPECT_EQ(r.state->book.find(third)->status, JobStatus::kQueued);
}

TEST(Reconcile, OneThatRunsOnAnotherSliceThanTheRecordsHaveIsFoundThere) {
  Restored r;
  JobRecord& job = r.accept();
  r.put_on(job, "3g@4");
  r.left(number(job.id), 1, "4g@0", true);
  r.runner.unknown_alive = {attempt_of(job)};
  r.recover(number(job.id), false);
  EXPECT_EQ(r.state->attempts.holder({0, index(r.place("4g@0"))}), job.id);
  EXPECT_EQ(r.state->attempts.slices().size(), 1u);
}

TEST(Reconcile, OneThatIsAliveIsFoundWhateverTheRecordsSayOfIt) {
  Restored r;
  JobRecord& job = r.accept();
  const QueueId id = job.id;
  r.put_on(job, "3g@4");
  r.transitions->finish(job, JobStatus::kFailed, "", true);
  ASSERT_TRUE(r.commit());
  r.left(number(id), 1, "3g@4", true);
  r.runner.unknown_alive = {{number(id), 1}};
  r.recover(number(id), false);
  ASSERT_TRUE(r.state->book.find(id));
  EXPECT_EQ(r.state->attempts.holder({0, index(r.place("3g@4"))}), id);
}

TEST(Reconcile, OneThatRunsBesideALaterAttemptIsEnded) {
  Restored r;
  JobRecord& job = r.accept();
  r.put_on(job, "3g@4");
  job.attempt = 2;
  r.left(number(job.id), 2, "3g@4", true);
  r.runner.found.running.push_back({number(job.id), 1});
  r.runner.unknown_alive = {{number(job.id), 1}, {number(job.id), 2}};
  r.recover(number(job.id), false);
  EXPECT_EQ(r.runner.stopped, (std::vector<AttemptId>{{number(job.id), 1}}));
  EXPECT_EQ(job.status, JobStatus::kRunning);
}

TEST(Reconcile, AnEndedJobThatWasRequeuedSinceIsSeenAfterARestoreOnly) {
  for (const bool restored : {false, true}) {
    Restored r;
    JobRecord& job = r.accept();
    const QueueId id = job.id;
    r.put_on(job, "3g@4");
    r.transitions->finish(job, JobStatus::kFailed, "", true);
    ASSERT_TRUE(r.commit());
    r.left(number(id), 2, "3g@4", true);
    r.recover(number(id), restored);
    EXPECT_EQ(bool(r.state->book.find(id)), restored);
  }
}

TEST(Reconcile, WhatTheRecordsKnowIsLeftAlone) {
  Restored r;
  JobRecord& job = r.accept();
  r.put_on(job, "3g@4");
  const QueueId id = job.id;
  r.transitions->finish(job, JobStatus::kDone, "", true);
  ASSERT_TRUE(r.commit());
  r.left(number(id), 1, "3g@4", false);
  r.recover(number(id));
  EXPECT_FALSE(r.state->book.find(id));
  EXPECT_EQ(r.stored_status(number(id)), JobStatus::kDone);
}

// Anybody can start a process with the token of a job that has ended.
TEST(Reconcile, AnEndThatIsKnownIsToldOnceWhateverSeemsAlive) {
  Restored r;
  JobRecord& job = r.accept();
  job.spec.mail = {MailEvent::kEnd};
  r.put_on(job, "3g@4");
  const QueueId id = job.id;
  r.transitions->finish(job, JobStatus::kDone, "", true);
  ASSERT_TRUE(r.commit());
  (void)r.transitions->take_mail();
  const auto ended = r.state->figures.counts.ended;
  r.left(number(id), 1, "3g@4", false);
  r.runner.unknown_alive = {{number(id), 1}};
  r.recover(number(id), false);
  EXPECT_FALSE(r.state->book.find(id));
  EXPECT_EQ(r.stored_status(number(id)), JobStatus::kDone);
  EXPECT_EQ(r.state->figures.counts.ended, ended) << "counted once";
  EXPECT_TRUE(r.transitions->take_mail().empty()) << "mailed once";
  EXPECT_TRUE(r.state->attempts.slices().empty());
}

TEST(Reconcile, OneThatNobodyKnowsAnythingOfIsEnded) {
  Restored r;
  r.left(41, 1, "3g@4", true, false);
  r.recover(7);
  EXPECT_FALSE(r.state->book.find(QueueId(41)));
  EXPECT_EQ(r.runner.stopped, (std::vector<AttemptId>{{41, 1}}));
}

}  // namespace
}  // namespace smartmig
