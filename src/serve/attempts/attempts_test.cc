#include "serve/attempts/attempts.h"

#include <sys/wait.h>
#include <unistd.h>

#include "support/daemon_parts.h"

namespace smartmig {
namespace {

struct Starting : DaemonParts {
  LiveFleet::Effect effect_on(const JobRecord& job, decltype(LiveFleet::Effect::what) what) {
    LiveFleet::Effect effect;
    effect.what = what;
    effect.job = state->session.belief().row(job.id);
    effect.gpu = GpuId{0};
    effect.where = place("3g@4");
    return effect;
  }
  JobRecord& start() {
    JobRecord& job = accept();
    visible->update(clock.now());
    tell_all();
    attempts->prepare({effect_on(job, LiveFleet::Effect::kStart)});
    EXPECT_TRUE(commit());
    carry_out();
    return job;
  }
};

TEST(Attempts, AShortageOfTheDaemonFailsNoJob) {
  Starting s;
  s.runner.start_error = Error{Error::kIo, "cannot open a pipe to a supervisor: too many open files"};
  JobRecord& job = s.start();
  EXPECT_EQ(job.status, JobStatus::kQueued);
  EXPECT_NE(job.reason.find("too many open files"), std::string::npos) << job.reason;
  EXPECT_TRUE(s.state->attempts.slices().empty());
  EXPECT_EQ(s.attempts->shortage(), s.runner.start_error->what);
  EXPECT_EQ(s.attempts->next_try(), s.clock.now() + from_seconds(1));
  s.pass(from_seconds(1));
  s.start();
  EXPECT_EQ(s.attempts->next_try(), s.clock.now() + from_seconds(2)) << "each time later";
  s.runner.start_error.reset();
  s.pass(from_seconds(2));
  EXPECT_EQ(s.start().status, JobStatus::kRunning);
  EXPECT_EQ(s.attempts->shortage(), "");
  EXPECT_EQ(s.attempts->next_try(), kNeverUnix);
}

TEST(Attempts, WhatThePolicyStopsBeforeItBeganWaitsAgain) {
  Starting s;
  JobRecord& job = s.accept();
  s.visible->update(s.clock.now());
  s.tell_all();
  s.attempts->prepare({s.effect_on(job, LiveFleet::Effect::kStart)});
  EXPECT_EQ(job.status, JobStatus::kStarting);
  s.attempts->prepare({s.effect_on(job, LiveFleet::Effect::kStop)});
  EXPECT_TRUE(s.commit());
  s.carry_out();
  EXPECT_TRUE(s.runner.started.empty());
  EXPECT_EQ(job.status, JobStatus::kQueued) << "there is no process whose end would bring it back";
  EXPECT_TRUE(s.state->attempts.slices().empty());
  EXPECT_TRUE(s.attempts->undone()) << "decided anew at once";
}

TEST(Attempts, APlanThatMovesAJobBeforeItBeganStartsItNowhere) {
  Starting s;
  JobRecord& job = s.accept();
  s.visible->update(s.clock.now());
  s.tell_all();
  s.attempts->prepare({s.effect_on(job, LiveFleet::Effect::kStart)});
  auto elsewhere = s.effect_on(job, LiveFleet::Effect::kStart);
  elsewhere.where = s.place("4g@0");
  s.attempts->prepare({s.effect_on(job, LiveFleet::Effect::kStop), elsewhere});
  EXPECT_TRUE(s.commit());
  s.carry_out();
  EXPECT_TRUE(s.runner.started.empty()) << "the belief has no row for it";
  EXPECT_EQ(job.status, JobStatus::kQueued);
  EXPECT_TRUE(s.state->attempts.slices().empty());
}

TEST(Attempts, AStartThatIsPostponedIsDroppedWhereThePolicyStopsTheJob) {
  Starting s;
  s.start();
  JobRecord& next = s.accept();
  s.visible->update(s.clock.now());
  s.tell_all();
  s.attempts->prepare({s.effect_on(next, LiveFleet::Effect::kStart)});
  EXPECT_TRUE(s.state->attempts.postponed(next.id)) << "the slice is held";
  s.attempts->prepare({s.effect_on(next, LiveFleet::Effect::kStop)});
  EXPECT_FALSE(s.state->attempts.postponed(next.id));
  EXPECT_EQ(next.status, JobStatus::kQueued);
}

TEST(Attempts, AJobWaitsWhileAnotherUserHasItsBoard) {
  Starting s;
  s.driver->only_uid = 4711;
  EXPECT_EQ(s.start().status, JobStatus::kQueued);
  EXPECT_TRUE(s.runner.started.empty());
}

TEST(Attempts, NobodyStartsWhereAnotherAttemptIsAlive) {
  Starting s;
  const std::string device = s.state->boards.device(0, s.place("3g@4"));
  s.runner.alive = {{device, {99, 2}}};  // of which the daemon knows nothing
  JobRecord& job = s.start();
  EXPECT_TRUE(s.runner.started.empty());
  EXPECT_EQ(job.status, JobStatus::kQueued);
  EXPECT_NE(job.reason.find("attempt 2 of job 99 is running on it"), std::string::npos) << job.reason;
  EXPECT_TRUE(s.state->attempts.slices().empty());
  EXPECT_EQ(s.state->figures.counts.refused_starts, 1u);
  EXPECT_TRUE(s.attempts->undone()) << "decided anew at once";
  ASSERT_EQ(s.state->boards.at(0).quarantined.count(index(s.place("3g@4"))), 1u);
  EXPECT_TRUE(s.believed(0).busy.contains(s.place("3g@4"))) << "no policy counts on it";
  EXPECT_FALSE(s.believed(0).busy.contains(s.place("4g@0"))) << "the rest works";
  s.sample();
  EXPECT_TRUE(s.believed(0).busy.contains(s.place("3g@4"))) << "as long as that is alive";
  s.runner.alive.clear();
  s.sample();
  EXPECT_TRUE(s.state->boards.at(0).quarantined.empty());
  EXPECT_FALSE(s.believed(0).busy.contains(s.place("3g@4")));
  EXPECT_EQ(s.start().status, JobStatus::kRunning);
}

// This test's parent stands for a process on the slice: it is alive throughout.
struct StartingBeside : Starting {
  explicit StartingBeside(const char* name) {
    EXPECT_TRUE(driver->start_process(GpuId{0}, place("3g@4"), {pid, -1, name, 100}));
    sample();
  }
  const std::string& words() { return state->boards.at(0).quarantined[index(place("3g@4"))]; }
  std::uint32_t pid = std::uint32_t(::getppid());
};

TEST(Attempts, NobodyStartsBesideAnAttemptsProcessThatTheGpuShows) {
  StartingBeside s("train");
  s.runner.processes[int(s.pid)] = {99, 2};
  JobRecord& job = s.start();
  EXPECT_TRUE(s.runner.started.empty());
  EXPECT_EQ(job.status, JobStatus::kQueued);
  EXPECT_NE(job.reason.find("(train) is running on it, of attempt 2 of job 99"), std::string::npos) << job.reason;
  EXPECT_NE(s.words().find("out of service until"), std::string::npos) << s.words();
  EXPECT_FALSE(s.guard->in_doubt());
  s.driver->end_process(s.pid);
  s.sample();
  EXPECT_EQ(s.start().status, JobStatus::kRunning);
}

TEST(Attempts, AnUnknownProcessIsLookedAtAgainBeforeItsSliceIsOutOfService) {
  StartingBeside s("stranger");
  JobRecord& job = s.start();
  EXPECT_TRUE(s.runner.started.empty());
  EXPECT_EQ(job.status, JobStatus::kQueued);
  EXPECT_NE(job.reason.find("(stranger) is running on it"), std::string::npos) << job.reason;
  EXPECT_TRUE(s.guard->in_doubt());
  s.reports->sample_when_due();
  EXPECT_LE(s.reports->next_sample(), s.clock.now() + SliceGuard::kLookAgain);
  s.wait_for_lanes();
  s.reports->take();
  int looks = 1;  // one more may be under way
  for (; s.words().find("smartmig checks again") != std::string::npos && looks < 2 * SliceGuard::kLooks; ++looks)
    s.sample();
  EXPECT_GE(looks, SliceGuard::kLooks - 1);
  EXPECT_LE(looks, SliceGuard::kLooks + 1);
  EXPECT_FALSE(s.guard->in_doubt());
  EXPECT_NE(s.words().find("out of service until"), std::string::npos) << s.words();
  EXPECT_TRUE(s.believed(0).busy.contains(s.place("3g@4")));
  s.driver->end_process(s.pid);
  s.sample();
  EXPECT_EQ(s.state->boards.at(0).quarantined.size(), 0u);
  EXPECT_EQ(s.start().status, JobStatus::kRunning);
}

// The samples have not seen it: the list that a start waits for does.
TEST(Attempts, NobodyStartsBesideAProcessThatCameSinceTheLastSample) {
  Starting s;
  s.sample();
  const auto stranger = std::uint32_t(::getppid());
  ASSERT_TRUE(s.driver->start_process(GpuId{0}, s.place("3g@4"), {stranger, -1, "stranger", 100}));
  JobRecord& job = s.start();
  EXPECT_TRUE(s.runner.started.empty());
  EXPECT_EQ(job.status, JobStatus::kQueued);
  EXPECT_NE(job.reason.find("(stranger) is running on it"), std::string::npos) << job.reason;
  EXPECT_EQ(s.state->boards.at(0).quarantined.count(index(s.place("3g@4"))), 1u);
  EXPECT_TRUE(s.believed(0).busy.contains(s.place("3g@4"))) << "no policy counts on it";
  s.driver->end_process(stranger);
  s.sample();
  EXPECT_EQ(s.start().status, JobStatus::kRunning);
}

TEST(Attempts, AStartWaitsForTheListAndNotTheOwner) {
  Starting s;
  JobRecord& job = s.accept();
  s.visible->update(s.clock.now());
  s.tell_all();
  s.attempts->prepare({s.effect_on(job, LiveFleet::Effect::kStart)});
  ASSERT_TRUE(s.commit());
  s.driver->inject(FakeDriver::Fault::kHang, GpuId{0});
  s.attempts->carry_out();
  s.reports->take();
  s.attempts->carry_out();
  EXPECT_TRUE(s.runner.started.empty());
  EXPECT_EQ(job.status, JobStatus::kStarting);
  s.attempts->left_slice(job, s.clock.now());  // as a cancel does
  s.transitions->finish(job, JobStatus::kCancelled, "", false);
  s.driver->clear_faults();
  s.carry_out();
  EXPECT_TRUE(s.runner.started.empty()) << "it was cancelled meanwhile";
}

TEST(Attempts, AGpuThatDoesNotListItsProcessesStartsNothingUntilItDoes) {
  Starting s;
  s.driver->unlisted = Error{Error::kTimeout, "listing the processes of GPU 0: no answer within 5.0 s"};
  JobRecord& job = s.start();
  EXPECT_TRUE(s.runner.started.empty());
  EXPECT_EQ(job.status, JobStatus::kQueued);
  EXPECT_NE(job.reason.find("does not say which processes run on it (listing"), std::string::npos) << job.reason;
  EXPECT_TRUE(s.believed(0).blocked);
  EXPECT_NE(s.state->boards.at(0).reread.find("it accepts no jobs until it does"), std::string::npos);
  const auto look_again = [&] {
    s.tell_all();
    s.reports->believe_again();
    s.sample();
    s.reports->believe_again();
    s.tell_all();
  };
  look_again();
  EXPECT_TRUE(s.believed(0).blocked) << "its slices can be read, its processes cannot";
  s.driver->unlisted.reset();
  look_again();
  EXPECT_FALSE(s.believed(0).blocked);
  EXPECT_EQ(s.start().status, JobStatus::kRunning);
}

TEST(Attempts, WhereNoListIsEverGivenTheRunnerAloneIsAsked) {
  Starting s;
  s.driver->unlisted = Error{Error::kNoPermission, "listing the processes of GPU 0: no permission"};
  EXPECT_EQ(s.start().status, JobStatus::kRunning);
}

TEST(Attempts, AMonitorOnASliceKeepsNobodyOut) {
  StartingBeside s("nv-hostengine");
  EXPECT_EQ(s.start().status, JobStatus::kRunning);
  EXPECT_EQ(s.state->figures.counts.refused_starts, 0u);
}

TEST(Attempts, AProcessThatHasEndedSinceTheSampleKeepsNobodyOut) {
  Starting s;
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  ASSERT_TRUE(s.driver->start_process(GpuId{0}, s.place("3g@4"), {std::uint32_t(ended), -1, "train", 100}));
  s.sample();
  ASSERT_EQ(::waitpid(ended, nullptr, 0), ended);
  EXPECT_EQ(s.start().status, JobStatus::kRunning) << "a slice passes from job to job at once";
}

TEST(Attempts, ASliceThatIsGoneFailsNoJobAndTheGpuIsReadAgain) {
  Starting s;
  s.driver->reset(GpuId{0});
  JobRecord& job = s.start();
  EXPECT_TRUE(s.runner.started.empty());
  EXPECT_EQ(job.status, JobStatus::kQueued) << job.reason;
  EXPECT_TRUE(s.believed(0).blocked) << "until it was read";
  EXPECT_NE(s.state->boards.at(0).reread, "") << "and it says so";
  s.tell_all();
  s.reports->believe_again();
  s.sample();
  s.reports->believe_again();
  s.tell_all();
  EXPECT_TRUE(s.believed(0).layout.empty());
  EXPECT_FALSE(s.believed(0).blocked);
  EXPECT_EQ(s.state->boards.at(0).reread, "");
}

TEST(Attempts, OneThatFailsWithoutItsSliceHasTheGpuReadAgainForTheNext) {
  DaemonParts p;
  JobRecord& job = p.run_on("3g@4");
  const QueueId id = job.id;
  p.driver->reset(GpuId{0});
  AttemptExit exit;
  exit.id = attempt_of(job);
  exit.code = 1;
  exit.started = exit.ended = p.clock.now();
  p.runner.exits.push_back(exit);
  p.ends->take_exits();
  ASSERT_FALSE(p.state->book.find(id)) << "it had begun, and may not be stopped: it has failed";
  EXPECT_NE(p.state->boards.at(0).reread, "");
  EXPECT_TRUE(p.believed(0).blocked);
}

struct StartingSlowly : Starting {
  StartingSlowly() { runner.slow = true; }
};

TEST(Attempts, TheOwnerWaitsForNoProcessToBegin) {
  StartingSlowly s;
  JobRecord& job = s.start();
  EXPECT_EQ(s.runner.beginning, std::vector<AttemptId>{attempt_of(job)});
  EXPECT_EQ(job.status, JobStatus::kStarting);
  EXPECT_EQ(job.times.started, kNotYet);
  EXPECT_TRUE(s.state->attempts.under_way(job));
  EXPECT_EQ(s.state->attempts.holder({0, index(s.place("3g@4"))}), job.id);
  s.carry_out();
  EXPECT_EQ(s.runner.beginning.size(), 1u) << "once";
  s.pass(from_seconds(3));
  s.runner.tell();
  s.take_begun();
  EXPECT_EQ(job.status, JobStatus::kRunning);
  EXPECT_EQ(job.times.started, s.clock.now());
}

TEST(Attempts, AStartThatIsKnownToHaveFailedLaterIsTriedAgain) {
  StartingSlowly s;
  JobRecord& job = s.start();
  s.runner.tell(Error{Error::kIo, "cannot start the supervisor: resource temporarily unavailable"});
  s.take_begun();
  EXPECT_EQ(job.status, JobStatus::kQueued);
  EXPECT_FALSE(s.state->attempts.under_way(job));
  EXPECT_TRUE(s.state->attempts.slices().empty());
  EXPECT_EQ(s.attempts->next_try(), s.clock.now() + from_seconds(1));
}

// Its supervisor began, and had no process left for it.
TEST(Attempts, OneThatNeverBeganForWantOfAProcessIsTriedAgain) {
  Starting s;
  JobRecord& job = s.start();
  AttemptExit exit;
  exit.id = attempt_of(job);
  exit.never_started = exit.short_of_means = true;
  exit.words = "no process for it: Resource temporarily unavailable";
  exit.started = exit.ended = s.clock.now();
  s.runner.exits.push_back(exit);
  s.ends->take_exits();
  EXPECT_EQ(job.status, JobStatus::kQueued) << job.reason;
  EXPECT_NE(job.reason.find("will try again: no process for it"), std::string::npos) << job.reason;
  EXPECT_TRUE(s.state->attempts.slices().empty());
  EXPECT_EQ(s.attempts->shortage(), exit.words);
  s.pass(from_seconds(2));
  EXPECT_EQ(s.start().status, JobStatus::kRunning);
}

TEST(Attempts, OneThatIsCancelledWhileItBeginsEndsAsCancelledWhateverCameOfIt) {
  for (const bool begins : {false, true}) {
    StartingSlowly s;
    JobRecord& job = s.start();
    const QueueId id = job.id;
    s.attempts->stop(job, StopReason::kCancel);
    ASSERT_TRUE(s.commit());
    s.carry_out();
    EXPECT_EQ(s.runner.stopped, std::vector<AttemptId>{attempt_of(job)}) << "the runner keeps it until it has begun";
    s.runner.tell(begins ? std::nullopt : std::optional(Error{Error::kIo, "no process"}));
    s.take_begun();
    if (begins) {
      EXPECT_EQ(job.status, JobStatus::kStopping);
      AttemptExit exit;
      exit.id = attempt_of(job);
      exit.never_started = true;
      exit.started = exit.ended = s.clock.now();
      s.runner.exits.push_back(exit);
      s.ends->take_exits();
    }
    EXPECT_FALSE(s.state->book.find(id));
    ASSERT_TRUE(s.commit());
    EXPECT_EQ(s.state->book.status_of(id), JobStatus::kCancelled);
    EXPECT_TRUE(s.state->attempts.slices().empty());
  }
}

TEST(Attempts, AGpuThatIsLostWhileAJobBeginsSendsItBackToTheQueue) {
  for (const bool begins : {false, true}) {
    StartingSlowly s;
    JobRecord& job = s.start();
    s.driver->inject(FakeDriver::Fault::kLost, GpuId{0});
    s.sample();
    EXPECT_EQ(job.stop_reason, StopReason::kGpuFailed);
    s.runner.tell(begins ? std::nullopt : std::optional(Error{Error::kIo, "no process"}));
    s.take_begun();
    if (begins) {
      AttemptExit exit;
      exit.id = attempt_of(job);
      exit.never_started = true;
      exit.started = exit.ended = s.clock.now();
      s.runner.exits.push_back(exit);
      s.ends->take_exits();
    }
    EXPECT_EQ(job.status, JobStatus::kQueued) << job.reason;
    EXPECT_EQ(job.stop_reason, StopReason::kNone);
  }
}

// The look at a slice is of the moment in which its job begins.
TEST(Attempts, AStartThatTheRunnerWouldPutOffWaitsBeforeTheLastLook) {
  StartingSlowly s;
  s.runner.most_beginning = 1;
  JobRecord& first = s.start();
  JobRecord& second = s.accept();
  s.visible->update(s.clock.now());
  s.tell_all();
  auto there = s.effect_on(second, LiveFleet::Effect::kStart);
  there.where = s.place("4g@0");
  s.attempts->prepare({there});
  ASSERT_TRUE(s.commit());
  s.carry_out();
  EXPECT_EQ(s.runner.beginning, std::vector<AttemptId>{attempt_of(first)});
  EXPECT_EQ(second.status, JobStatus::kStarting);
  s.runner.alive = {{s.state->boards.device(0, s.place("4g@0")), {99, 2}}};
  s.runner.tell();
  s.take_begun();
  s.carry_out();
  EXPECT_TRUE(s.runner.beginning.empty());
  EXPECT_EQ(second.status, JobStatus::kQueued) << "somebody came there meanwhile";
}

TEST(Attempts, AFaultOfTheJobFailsIt) {
  Starting s;
  s.runner.start_error = Error{Error::kNotFound, "no such directory"};
  const QueueId id = s.state->book.next_id();
  s.start();
  EXPECT_FALSE(s.state->book.find(id));
  EXPECT_EQ(s.attempts->shortage(), "");
}

}  // namespace
}  // namespace smartmig
