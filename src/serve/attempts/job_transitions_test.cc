#include "serve/attempts/job_transitions.h"

#include <gtest/gtest.h>

#include "support/set_clock.h"
#include "support/temp_dir.h"

namespace smartmig {
namespace {

struct Lives {
  TempDir dir;
  SetClock clock;
  std::unique_ptr<Store> store = std::move(Store::open(dir.path() + "/queue.db").value());
  std::shared_ptr<const Platform> platform =
      std::make_shared<const Platform>(Platform::parse("1xa100-40gb", "auto").value());
  LiveSession session{clock, platform, UnixTime{}, 16, {Layout{}}, {"0", "none+edf", "test", kPaperA}, 0};
  LiveJobs book{*store};
  Figures figures{UnixTime{}};
  GpuReservations reservations{UnixTime{}};
  AttemptTable table;
  Settings settings;
  Quotas quotas{settings, 7};
  JobTransitions transitions{session, book, figures, reservations, table, quotas};

  QueueId accept(std::vector<Dependency> dependencies = {}) {
    JobRecord job;
    job.spec.command = {"x"};
    job.spec.directory = "/";
    job.spec.dependencies = std::move(dependencies);
    JobRecord& taken = book.accept(std::move(job));
    const QueueId id = taken.id;
    transitions.check_dependencies(taken);
    return id;
  }
};

TEST(JobTransitions, AnEndReleasesOrEndsThoseThatWaitForIt) {
  Lives l;
  const QueueId first = l.accept();
  const QueueId after_ok = l.accept({{Dependency::kAfterOk, number(first)}});
  const QueueId after_any = l.accept({{Dependency::kAfterAny, number(first)}});
  const QueueId last = l.accept({{Dependency::kAfterOk, number(after_ok)}});
  EXPECT_EQ(l.book.find(after_ok)->status, JobStatus::kHeld);
  l.transitions.finish(*l.book.find(first), JobStatus::kFailed, "exit code 1", true);
  EXPECT_FALSE(l.book.find(after_ok));
  EXPECT_FALSE(l.book.find(last)) << "nor can this one ever run";
  ASSERT_TRUE(l.book.find(after_any));
  EXPECT_EQ(l.book.find(after_any)->status, JobStatus::kQueued);
  EXPECT_EQ(l.figures.counts.ended[int(JobStatus::kCancelled)], 2u);
  EXPECT_EQ(l.book.take_ended().size(), 3u);
}

TEST(JobTransitions, BackInTheQueueAJobIsOnNoSliceAndAsksForWhatItUsed) {
  Lives l;
  JobRecord& job = *l.book.find(l.accept());
  job.place.gpu = 0;
  job.place.slice = {"3g.20gb", 4};
  job.memory.mib = 20000;
  job.memory.peak_mib = 4000;
  job.stop_reason = StopReason::kPreempt;
  job.status.found(JobStatus::kStopping);
  (void)l.book.take_queue_changed();
  l.transitions.back_to_queue(job, "preempted", 0.4);
  EXPECT_EQ(job.status, JobStatus::kQueued);
  EXPECT_EQ(job.place.gpu, -1);
  EXPECT_TRUE(job.place.slice.none());
  EXPECT_EQ(job.work.remaining, 0.4);
  EXPECT_EQ(job.memory.mib, 5000) << "with room for what was not seen";
  EXPECT_EQ(job.stop_reason, StopReason::kNone);
  EXPECT_TRUE(l.book.take_queue_changed());
}

TEST(JobTransitions, TheEndOfWhatAJobWaitedForLeavesItRunning) {
  Lives l;
  const QueueId first = l.accept();
  JobRecord& job = *l.book.find(l.accept({{Dependency::kAfter, number(first)}}));
  EXPECT_EQ(job.status, JobStatus::kHeld);
  job.status.found(JobStatus::kRunning);
  job.attempt = 1;
  l.table.began(job);
  l.transitions.finish(*l.book.find(first), JobStatus::kDone, "", true);
  EXPECT_EQ(job.status, JobStatus::kRunning);
  EXPECT_TRUE(job.spec.dependencies.empty());
}

TEST(JobTransitionsDeathTest, NoJobLeavesItsAttemptBehind) {
  Lives l;
  JobRecord& job = *l.book.find(l.accept());
  job.attempt = 1;
  job.status.step(JobStatus::kStarting);
  l.table.began(job);
  job.status.step(JobStatus::kRunning);
  EXPECT_DEATH(job.status.step(JobStatus::kQueued), "without the end of an attempt");
  EXPECT_DEATH(job.status.step(JobStatus::kStarting), "without the end of an attempt");
  EXPECT_DEATH(job.status.step(JobStatus::kCancelled), "without the end of an attempt");
  EXPECT_DEATH(l.transitions.check_dependencies(job), "without the end of an attempt");
  EXPECT_DEATH(l.transitions.back_to_queue(job, "", 1), "while attempt 1 is under way");
  EXPECT_DEATH(l.transitions.finish(job, JobStatus::kCancelled, "", false), "while attempt 1 is under way");
  EXPECT_TRUE(l.table.ended(attempt_of(job)));
  l.transitions.back_to_queue(job, "preempted", 1);
  EXPECT_EQ(job.status, JobStatus::kQueued);
}

}  // namespace
}  // namespace smartmig
