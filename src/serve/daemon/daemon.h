// The owner of the queue: one thread that takes what happened (exits, finished operations, samples, requests), lets the
// policy decide, stores the consequences, and only then carries them out.
//
//   gather -> tell the fleet -> decide and act (the one loop of sched/session.h) -> commit -> effects -> answers
//
// daemon.cc has the order of these; each of them is done by a part with a header of its own.
//
// Invariants:
//   - nothing starts, stops or is answered before it is on disk; a commit that fails (full disk) stops new work, and
//     what it held is tried again;
//   - a job is started by at most one attempt at a time, and an attempt by at most one supervisor (live/jobs/runner.h);
//   - rows of live jobs are the whole state: a new daemon over the same store, runner and GPUs continues where this one
//     was.
// The daemon itself has no HTTP, configuration files or sockets, so tests run it in memory and on a virtual clock.
// Thread rule: run() and step() on the owner thread; ask(), wait_for_news(), stop() and now() on any.
#pragma once
#include "queue/answers/requests.h"
#include "serve/attempts/attempt_ends.h"
#include "serve/attempts/idle_watch.h"
#include "serve/attempts/prelaunches.h"
#include "serve/daemon/daemon_state.h"
#include "serve/daemon/decisions.h"
#include "serve/daemon/gpu_reports.h"
#include "serve/daemon/job_requests.h"
#include "serve/daemon/reservation_keeper.h"
#include "serve/daemon/upkeep.h"

namespace smartmig {

class Daemon {
 public:
  // Reads the store, finds what runs, puts the pieces together. Nothing starts before the first step().
  static Result<std::unique_ptr<Daemon>> open(DaemonWorld world, Settings settings);

  void run();   // until stop()
  void step();  // everything that is due now
  UnixTime next_due() const;
  void stop() { requests_.stop(); }  // run() returns; jobs run on

  // Runs `work` on the owner thread within a step and returns once what it changed is stored. Where it `changes`
  // something: kIo when that could not be stored; new jobs are then not accepted.
  template <class T>
  Result<T> ask(std::function<Result<T>(Daemon&)> work, bool changes = false) {
    return requests_.ask<T>([this, work = std::move(work)] { return work(*this); }, changes);
  }
  // Waits until the journal holds more than `position`, or the time is over, or the daemon goes down (false).
  bool wait_for_news(std::uint64_t position, double seconds) const {
    return requests_.wait_for_news(position, seconds);
  }
  UnixTime now() const { return world_.clock.now(); }

  // ---- on the owner thread only
  Result<Ok> set_settings(Settings settings);  // SIGHUP: all but what belongs to the start
  Result<Ok> drain(int gpu, bool on) { return reports_.drain(gpu, on); }
  void pause(bool on);
  JobRequests& jobs() { return jobs_; }  // submit, cancel, requeue, hold, ...
  JobGroups& groups() { return state_->groups; }
  ReservationKeeper& reservations() { return reservations_; }

  DaemonWorld& world() { return world_; }
  const DaemonWorld& world() const { return world_; }
  DaemonState& state() { return *state_; }
  const DaemonState& state() const { return *state_; }
  std::string failing_words(GpuId gpu) const;  // of slices that cannot be made there; empty: none
  const std::string& shortage() const { return attempts_.shortage(); }
  const Decisions& decisions() const { return decisions_; }
  const Policies& policies() const { return decisions_.policies(); }
  const Cluster& cluster() const { return state_->session.cluster(); }
  const Counts& counts() const { return state_->figures.counts; }
  const std::map<QueueId, JobRecord>& live_jobs() const { return state_->book.live(); }

 private:
  Daemon(DaemonWorld world, std::unique_ptr<DaemonState> state);
  Result<Ok> apply_settings();
  void follow_clock();
  void gather();
  bool commit();
  bool short_of_means() const;

  DaemonWorld world_;
  std::unique_ptr<DaemonState> state_;
  SliceQuarantine quarantine_;
  SliceGuard guard_;
  JobTransitions transitions_;
  VisibleJobs visible_;
  Attempts attempts_;
  AttemptEnds ends_;
  IdleWatch idle_;
  Prelaunches prelaunches_;
  GpuReports reports_;
  Decisions decisions_;
  Suspensions suspensions_;
  JobRequests jobs_;
  ReservationKeeper reservations_;
  Upkeep upkeep_;
  Requests requests_;
};

}  // namespace smartmig
