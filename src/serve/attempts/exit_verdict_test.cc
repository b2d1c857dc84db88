#include "serve/attempts/exit_verdict.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

JobRecord stopped_job(StopReason reason, bool checkpoints = false) {
  JobRecord job;
  job.id = QueueId(7);
  job.place.gpu = 1;
  job.attempt = 1;
  job.reason = "words of before";
  job.work.remaining = 0.8;
  job.stop_reason = reason;
  if (checkpoints) job.spec.checkpoint_signal = 10;
  return job;
}

AttemptExit exit_with(int code, int signal = 0) {
  AttemptExit exit;
  exit.id = {7, 1};
  exit.code = code;
  exit.signal = signal;
  return exit;
}

constexpr ExitVerdict::Kind kEnds = ExitVerdict::kEnds, kBack = ExitVerdict::kBackToQueue;

TEST(ExitVerdict, AnExitByItself) {
  const JobRecord job = stopped_job(StopReason::kNone);
  const ExitVerdict done = verdict_of(job, exit_with(0), {});
  EXPECT_EQ(done.kind, kEnds);
  EXPECT_EQ(done.status, JobStatus::kDone);
  EXPECT_TRUE(done.completed);
  const ExitVerdict failed = verdict_of(job, exit_with(3), {});
  EXPECT_EQ(failed.kind, ExitVerdict::kFails) << "perhaps for want of memory";
  EXPECT_EQ(failed.reason, "exit code 3");
  EXPECT_EQ(verdict_of(job, exit_with(-1, 11), {}).reason, "killed by signal 11");
  AttemptExit late = exit_with(-1, 9);
  late.timed_out = true;
  EXPECT_EQ(verdict_of(job, late, {}).status, JobStatus::kTimedOut);
  for (const StopReason stopped : {StopReason::kNone, StopReason::kPreempt, StopReason::kLarger}) {
    AttemptExit polite = exit_with(0);
    polite.timed_out = true;
    EXPECT_EQ(verdict_of(stopped_job(stopped), polite, {}).status, JobStatus::kTimedOut)
        << "a job that ends at the signal of its time limit has not done its work";
  }
  AttemptExit never = exit_with(-1);
  never.never_started = true;
  never.words = "no such program";
  EXPECT_EQ(verdict_of(job, never, {}).kind, kEnds);
  EXPECT_FALSE(verdict_of(job, never, {}).completed);
}

TEST(ExitVerdict, ACancelledJobIsCancelledHoweverItEnds) {
  for (const int code : {0, 1, 143})
    EXPECT_EQ(verdict_of(stopped_job(StopReason::kCancel), exit_with(code), {}).status, JobStatus::kCancelled);
}

TEST(ExitVerdict, APreemptedJobKeepsWhatItSaved) {
  const ExitFacts facts{0.3, false, ""};
  EXPECT_EQ(verdict_of(stopped_job(StopReason::kPreempt), exit_with(0), facts).status, JobStatus::kDone)
      << "it ended before the stop reached it";
  const ExitVerdict plain = verdict_of(stopped_job(StopReason::kPreempt), exit_with(143), facts);
  EXPECT_EQ(plain.kind, kBack);
  EXPECT_TRUE(plain.preempted);
  EXPECT_EQ(plain.remaining, 1) << "it saves nothing";
  const JobRecord saves = stopped_job(StopReason::kPreempt, true);
  EXPECT_EQ(verdict_of(saves, exit_with(0), facts).remaining, 0.3);
  AttemptExit itself = exit_with(0);
  itself.unasked = true;
  EXPECT_EQ(verdict_of(saves, itself, facts).status, JobStatus::kDone) << "it ended before the stop reached it";
  EXPECT_EQ(verdict_of(saves, exit_with(-1, 9), facts).remaining, 0.8) << "killed before it had saved";
  EXPECT_EQ(verdict_of(saves, exit_with(0), {0.3, true, ""}).kind, ExitVerdict::kAsBelieved);
  EXPECT_EQ(verdict_of(saves, exit_with(-1, 9), {0.3, true, ""}).kind, kBack) << "the belief has it saved";
}

TEST(ExitVerdict, OneWhoseGpuFailedBeforeItBeganHasNotFailed) {
  JobRecord job = stopped_job(StopReason::kGpuFailed);
  AttemptExit never = exit_with(-1, 15);
  never.never_started = true;
  const ExitVerdict verdict = verdict_of(job, never, {1, false, "Xid 79"});
  EXPECT_EQ(verdict.kind, kBack);
  EXPECT_EQ(verdict.reason, "requeued: GPU 1 failed: Xid 79; it had not begun");
  job.spec.once = true;
  EXPECT_EQ(verdict_of(job, never, {}).kind, kBack) << "once is once";
}

TEST(ExitVerdict, AJobOfAFailedGpuGoesElsewhereIfItMay) {
  JobRecord job = stopped_job(StopReason::kGpuFailed);
  const ExitFacts facts{0.5, false, "Xid 79"};
  const ExitVerdict ends = verdict_of(job, exit_with(143), facts);
  EXPECT_EQ(ends.kind, kEnds);
  EXPECT_EQ(ends.status, JobStatus::kFailed);
  EXPECT_NE(ends.reason.find("GPU 1 failed: Xid 79"), std::string::npos);
  job.spec.requeue = true;
  EXPECT_EQ(verdict_of(job, exit_with(143), facts).kind, kBack);
  job.spec.once = true;
  EXPECT_EQ(verdict_of(job, exit_with(143), facts).kind, kEnds);
  EXPECT_NE(verdict_of(job, exit_with(143), facts).reason.find("--no-requeue forbids a restart"), std::string::npos);
}

TEST(ExitVerdict, ALargerSliceIsTheReasonThatStays) {
  EXPECT_EQ(verdict_of(stopped_job(StopReason::kLarger), exit_with(143), {}).reason, "words of before");
  EXPECT_EQ(verdict_of(stopped_job(StopReason::kRequeue, true), exit_with(0), {0.2, false, ""}).remaining, 1)
      << "from the beginning";
}

}  // namespace
}  // namespace smartmig
