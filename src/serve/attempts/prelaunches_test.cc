#include "serve/attempts/prelaunches.h"

#include "support/daemon_parts.h"

namespace smartmig {
namespace {

// It fits no slice of a smaller fleet, or what it depends on has failed: its processes wait for nothing.
TEST(Prelaunches, AJobThatEndsWhileItWaitsLeavesNoProcesses) {
  DaemonParts p;
  Prelaunches prelaunches(p.state->settings, p.runner, false, p.state->session, p.state->book, p.state->attempts,
                          *p.attempts);
  JobRecord& ends = p.accept();
  JobRecord& waits = p.accept();
  for (JobRecord* job : {&ends, &waits}) {
    job->attempt = 1;
    job->prelaunch.began = p.clock.now();
    p.state->attempts.began_ahead(*job);
  }
  const AttemptId left = attempt_of(ends), held = attempt_of(waits);
  p.transitions->finish(ends, JobStatus::kFailed, "it fits no slice", false);
  ASSERT_TRUE(p.commit());
  prelaunches.carry_out();
  prelaunches.carry_out();
  EXPECT_EQ(p.runner.stopped, std::vector<AttemptId>{left}) << "once";
  AttemptExit exit;
  exit.id = left;
  exit.signal = 15;
  exit.started = exit.ended = p.clock.now();
  p.runner.exits.push_back(exit);
  p.ends->take_exits();
  EXPECT_EQ(p.state->attempts.prelaunched(), std::set<AttemptId>{held});
}

struct Ahead : DaemonParts {
  Ahead() : DaemonParts("2xa100-40gb", "4g@0+3g@4", one_ahead()) {
    runner.slow = true;
    job.spec.prelaunch = true;
    visible->update(clock.now());
    tell_all();
    prelaunches.choose(*decisions->policies().stack().policy);
    EXPECT_TRUE(commit());
    prelaunches.carry_out();
    EXPECT_EQ(runner.beginning, std::vector<AttemptId>{attempt_of(job)});
  }
  static Settings one_ahead() {
    Settings settings;
    settings.prelaunch.jobs = 1;
    settings.prelaunch.mem_mib = 1 << 20;
    settings.prelaunch.cpus = 4;
    return settings;
  }
  void take_begun() {
    for (const JobRunner::Begun& one : runner.begun())
      if (!prelaunches.begun(one)) attempts->begun(one);
  }
  void give_slice() {
    LiveFleet::Effect effect;
    effect.what = LiveFleet::Effect::kStart;
    effect.job = state->session.belief().row(job.id);
    effect.gpu = GpuId{0};
    effect.where = place("3g@4");
    attempts->prepare({effect});
    EXPECT_TRUE(commit());
    carry_out();
  }
  Prelaunches prelaunches{state->settings, runner, false, state->session, state->book, state->attempts, *attempts};
  JobRecord& job = accept();
};

TEST(Prelaunches, OneThatIsBeginningGetsItsSliceOnceItHasBegun) {
  Ahead a;
  a.give_slice();
  EXPECT_EQ(a.job.status, JobStatus::kStarting) << "nobody can be given a slice yet, and nobody begins twice";
  EXPECT_EQ(a.runner.beginning.size(), 1u);
  a.runner.tell();
  a.take_begun();
  a.carry_out();
  EXPECT_EQ(a.runner.granted_to, std::vector<AttemptId>{attempt_of(a.job)});
  EXPECT_EQ(a.job.status, JobStatus::kRunning);
  EXPECT_EQ(a.job.attempt, 1);
}

TEST(Prelaunches, OneThatCouldNotBeginAheadBeginsOnItsSlice) {
  Ahead a;
  a.give_slice();
  a.runner.tell(Error{Error::kInvalid, "no directory"});
  a.take_begun();
  a.carry_out();
  EXPECT_EQ(a.runner.beginning, std::vector<AttemptId>{attempt_of(a.job)});
  a.runner.tell();
  a.take_begun();
  EXPECT_EQ(a.job.status, JobStatus::kRunning);
  EXPECT_EQ(a.job.attempt, 1);
  EXPECT_EQ(a.job.prelaunch.began, kNotYet);
  EXPECT_EQ(a.job.prelaunch.refused, "no directory");
}

TEST(Prelaunches, OneThatCouldNotBeginWaitsOrIsCancelled) {
  for (const bool cancelled : {false, true}) {
    Ahead a;
    const QueueId id = a.job.id;
    if (cancelled) {
      a.state->session.withdraw(id);
      a.attempts->stop(a.job, StopReason::kCancel);
    }
    a.runner.tell(Error{Error::kIo, "no process"});
    a.take_begun();
    EXPECT_TRUE(a.state->attempts.prelaunched().empty());
    EXPECT_EQ(bool(a.state->book.find(id)), !cancelled);
    if (cancelled) continue;
    EXPECT_EQ(a.job.status, JobStatus::kQueued);
    EXPECT_EQ(a.job.attempt, 0);
  }
}

}  // namespace
}  // namespace smartmig
