// Somebody sets the host's time of day: run times, waits and energy stay what they were; --begin and --deadline mean the
// new time.
#include "serve/attempts/clock_steps.h"

#include "support/daemon_queue.h"
#include "support/set_clock.h"
#include "support/stepped_clock.h"

namespace smartmig {
namespace {

constexpr Time kBegin = std::chrono::hours(240);  // so that it can be set back

struct ClockOfQueue {  // before the queue that is opened with it
  std::shared_ptr<SteppedClock> clock;

  std::function<void(DaemonHostOptions&)> wrap(Time shift, const char* boot = "this-boot") {
    return [this, shift, boot](DaemonHostOptions& options) {
      options.wrap_clock = [this, shift, boot](std::shared_ptr<LiveClock> inner) {
        clock = std::make_shared<SteppedClock>(std::move(inner), kBegin + shift);
        clock->boot_id = boot;
        return clock;
      };
    };
  }
};

struct SteppedQueue : ClockOfQueue, TestQueue {
  SteppedQueue() : TestQueue("1xa100-40gb", wrap(Time{0})) {}
  void restart(Time shift, const char* boot = "this-boot") {
    daemon().stop();
    daemon().run();  // it saves and leaves
    host.reset();
    open("1xa100-40gb", wrap(shift, boot));
  }
  std::string journal() {
    std::string text;
    const auto events = host->store().events_after(0, 100'000);
    for (const EventRow& event : *events) text += event.line + "\n";
    return text;
  }
};

Time ran(const JobRecord& job) { return job.times.ended - job.times.started; }

TEST(ClockSteps, RunTimesEnergyAndTardinessAreThoseOfAClockThatNobodySet) {
  double joules = 0;
  for (const double hours : {0.0, 1.0, -1.0, 24.0 * 365, -5.0}) {
    SteppedQueue q;
    const QueueId id = q.submit(q.alice, 10);
    q.run(4);
    const JobRecord before = q.daemon().live_jobs().at(id);
    q.clock->step(from_minutes(60 * hours));
    q.run();
    const JobRecord job = q.ended(id);
    EXPECT_EQ(job.status, JobStatus::kDone) << job.reason;
    EXPECT_NEAR(seconds(ran(job)), 600, 1) << hours;
    EXPECT_EQ(job.times.started, before.times.started + from_minutes(60 * hours));
    EXPECT_EQ(job.counts.overruns, 0) << hours;
    EXPECT_EQ(q.daemon().counts().ended_tardiness_s, 0) << hours;
    q.host->clock().wait_until(q.daemon().now() + from_seconds(30));
    q.daemon().step();
    const double drawn = q.ended(id).energy.joules;
    if (hours == 0) joules = drawn;
    EXPECT_GT(drawn, 0);
    EXPECT_NEAR(drawn, joules, 0.01 * joules) << hours;
    const bool said = q.journal().find("\"note\":\"clock_stepped\"") != std::string::npos;
    EXPECT_EQ(said, hours != 0) << hours;
  }
}

TEST(ClockSteps, ABeginMeansTheNewTimeOfDay) {
  SteppedQueue q;
  const QueueId later = q.submit(q.alice, 2, [&](JobSpec& s) { s.begin = q.daemon().now() + from_minutes(30); });
  q.run(1);
  EXPECT_EQ(q.daemon().live_jobs().at(later).status, JobStatus::kHeld);
  q.clock->step(std::chrono::hours(1));
  q.run(1);
  EXPECT_NE(q.daemon().live_jobs().at(later).status, JobStatus::kHeld) << "its begin has come with the step";
  q.run();

  q.clock->step(-std::chrono::hours(1));
  q.daemon().step();
  const UnixTime begin = q.daemon().now() + from_seconds(2);
  const QueueId soon = q.submit(q.alice, 2, [&](JobSpec& s) { s.begin = begin; });
  q.run();
  EXPECT_LE(q.ended(soon).times.started - begin, from_seconds(10)) << "it does not wait for an hour";
  EXPECT_GE(q.ended(soon).times.started, begin);
}

TEST(ClockSteps, AJobWhoseBeginLiesAheadAgainIsHeldAgain) {
  SteppedQueue q;
  q.submit(q.bob, 600, [](JobSpec& s) { s.min_slices = 7; });
  const UnixTime begin = q.daemon().now() + from_minutes(10);
  const QueueId id = q.submit(q.alice, 2, [&](JobSpec& s) { s.begin = begin; });
  q.run(20);
  EXPECT_EQ(q.daemon().live_jobs().at(id).status, JobStatus::kQueued);
  q.clock->step(-std::chrono::hours(1));
  q.daemon().step();
  EXPECT_EQ(q.daemon().live_jobs().at(id).status, JobStatus::kHeld);
  EXPECT_EQ(q.daemon().live_jobs().at(id).reason.rfind("begins at", 0), 0u);
  q.run(55);
  EXPECT_NE(q.daemon().live_jobs().at(id).status, JobStatus::kHeld);
}

TEST(ClockSteps, ThePolicySeesDeadlinesByTheNewTimeOfDay) {
  SteppedQueue q;
  const UnixTime deadline = q.daemon().now() + std::chrono::hours(10);
  const auto due = [&](JobSpec& s) {
    s.deadline = deadline;
    s.min_slices = 7;
  };
  const QueueId runs = q.submit(q.alice, 120, due), waits = q.submit(q.alice, 120, due);
  q.run(1);
  const auto seen = [&](QueueId id) {
    const Belief& belief = q.daemon().state().session.belief();
    return belief.outside(belief.table()->job(belief.row(id)).deadline);
  };
  ASSERT_EQ(q.daemon().live_jobs().at(runs).status, JobStatus::kRunning);
  q.clock->step(std::chrono::hours(3));
  q.run(1);
  EXPECT_EQ(seen(runs), deadline);
  EXPECT_EQ(seen(waits), deadline);
  q.run();
  EXPECT_EQ(q.ended(runs).status, JobStatus::kDone);
  EXPECT_NEAR(seconds(ran(q.ended(runs))), 7200, 2);
}

TEST(ClockSteps, AStepWhileTheDaemonWasDownLeavesRunAndWaitingTimesRight) {
  SteppedQueue q;
  const QueueId runs = q.submit(q.alice, 30, [](JobSpec& s) { s.min_slices = 7; });
  q.run(1);
  const QueueId waits = q.submit(q.bob, 30, [](JobSpec& s) { s.min_slices = 7; });
  q.run(10);
  const JobRecord before = q.daemon().live_jobs().at(runs);
  ASSERT_EQ(before.status, JobStatus::kRunning);
  const Time run_for = q.daemon().now() - before.times.started;
  const Time waited = q.daemon().now() - q.daemon().live_jobs().at(waits).times.submitted;
  q.restart(std::chrono::hours(2));
  EXPECT_NEAR(seconds(q.daemon().now() - q.daemon().live_jobs().at(waits).times.submitted), seconds(waited), 1);
  q.daemon().pause(true);
  q.daemon().step();
  EXPECT_NEAR(seconds(ran(q.ended(runs))), seconds(run_for), 1) << "without processes it ended with its daemon";
  EXPECT_NE(q.journal().find("while the daemon was down"), std::string::npos);
  const UnixTime submitted = q.daemon().live_jobs().at(waits).times.submitted;
  q.restart(std::chrono::hours(2));  // the same clock: nothing is moved
  EXPECT_EQ(q.daemon().live_jobs().at(waits).times.submitted, submitted);
}

TEST(ClockSteps, AJobThatEndedBeforeTheClockWentBackRunsAgainAtTheTimeOfToday) {
  SteppedQueue q;
  const QueueId id = q.submit(q.alice, 10, [](JobSpec& s) { s.min_slices = 7; });  // the same slice each time
  q.run();
  const JobRecord before = q.ended(id);
  q.clock->step(-from_minutes(24 * 60));
  q.daemon().step();
  ASSERT_TRUE(q.daemon().jobs().requeue(id, false));
  q.daemon().step();
  const JobRecord& again = q.daemon().live_jobs().at(id);
  EXPECT_LE(again.times.submitted, q.daemon().now());
  EXPECT_EQ(again.times.first_started - again.times.submitted, before.times.first_started - before.times.submitted);
  const LiveSession& session = q.daemon().state().session;
  EXPECT_LE(session.cluster().now(), session.inside_now()) << "the belief is not a day ahead";
  q.run();
  EXPECT_NEAR(seconds(ran(q.ended(id))), 600, 1);
}

TEST(ClockSteps, WhatClocksSaidBefore) {
  SteppedClock clock(std::make_shared<SetClock>(UnixTime(std::chrono::hours(100))));
  const std::string reading = clock_reading(clock);
  EXPECT_EQ(step_since(reading, clock), Time{0});
  clock.sleep(std::chrono::hours(5));
  EXPECT_EQ(step_since(reading, clock), Time{0});
  clock.step(-std::chrono::hours(7));
  clock.take_step();
  EXPECT_EQ(step_since(reading, clock), -std::chrono::hours(7));
  clock.boot_id = "another";
  EXPECT_EQ(step_since(reading, clock), -std::chrono::hours(2)) << "time does not go back over a restart";
  clock.step(std::chrono::hours(30));
  clock.take_step();
  EXPECT_EQ(step_since(reading, clock), Time{0}) << "the machine may have been off for that long";
  for (const char* nonsense : {"", "this-boot", "this-boot 1", "this-boot x 1", "this-boot 1 x", "a b c d"})
    EXPECT_EQ(step_since(nonsense, clock), Time{0}) << nonsense;
  EXPECT_EQ(clock_reading(SetClock()), "");
}

TEST(ClockSteps, AnExitIsPlacedByWhatNobodySets) {
  SteppedClock clock(std::make_shared<SetClock>(UnixTime(std::chrono::hours(100))));
  UnixTime started = clock.now() - from_minutes(30);
  AttemptExit exit;
  exit.started = clock.now() + std::chrono::hours(3);  // by a time of day that was set back since
  exit.ended = exit.started + from_minutes(20);
  exit.ran = from_minutes(20);
  exit.ended_steady = clock.steady() - from_minutes(10);
  place_exit(exit, started, false, clock);
  EXPECT_EQ(exit.ended, clock.now() - from_minutes(10));
  EXPECT_EQ(exit.started, clock.now() - from_minutes(30));
  EXPECT_EQ(started, clock.now() - from_minutes(30));

  exit.ended = clock.now() - from_minutes(10);  // of an earlier boot: an hour too much between the two
  started = exit.ended - from_minutes(80);
  place_exit(exit, started, false, clock);
  EXPECT_EQ(exit.ended - started, from_minutes(20));

  AttemptExit old;  // of a supervisor of before, and in the future
  old.started = old.ended = clock.now() + from_minutes(9);
  started = clock.now() - from_minutes(5);
  place_exit(old, started, false, clock);
  EXPECT_EQ(old.ended, clock.now());
  EXPECT_LE(old.started, old.ended);
  old.ended = started - from_minutes(60);
  place_exit(old, started, false, clock);
  EXPECT_EQ(old.ended, started) << "never a negative run time";
}

}  // namespace
}  // namespace smartmig
