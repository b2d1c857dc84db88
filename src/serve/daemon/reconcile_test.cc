#include "serve/daemon/reconcile.h"

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
    EXPECT_TRUE(find_running(runner, *state, *attempts, *ends, *suspensions, *lifecycle));
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

TEST(Reconcile, AnEndedJobThatWasRequeuedSinceIsSeenAfterARestoreOnly) {
  for (const bool restored : {false, true}) {
    Restored r;
    JobRecord& job = r.accept();
    const QueueId id = job.id;
    r.put_on(job, "3g@4");
    r.lifecycle->finish(job, JobStatus::kFailed, "", true);
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
  r.lifecycle->finish(job, JobStatus::kDone, "", true);
  ASSERT_TRUE(r.commit());
  r.left(number(id), 1, "3g@4", false);
  r.recover(number(id));
  EXPECT_FALSE(r.state->book.find(id));
  EXPECT_EQ(r.stored_status(number(id)), JobStatus::kDone);
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
