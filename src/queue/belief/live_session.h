// The loop of sched/session.h over the living fleet: what is believed (Belief, Cluster), what is told to it
// (LiveFleet), and the journal of both. The other parts of the daemon identify jobs by their number in the queue and
// use Unix time; only this part and the policy use rows of the job table and belief time.
//
// Invariants: a job has at most one row, and every row that was reported as submitted or found running is reported as
// finished or withdrawn before it is dropped. Thread rule: the owner's.
#pragma once
#include <memory>
#include <optional>

#include "live/live_clock.h"
#include "live/live_fleet.h"
#include "queue/belief/belief.h"
#include "queue/store/live_journal.h"
#include "sched/session.h"

namespace smartmig {

inline constexpr Time kOverrunGrace{1'000'000};  // after its expected end a job is taken to need more

// What the journal's header says of the daemon.
struct LiveRun {
  std::string version, policy, world;
  double a;  // weight of a watt-minute against a minute of mean tardiness
};

class LiveSession {
 public:
  // `window`: the maximum number of jobs that a policy sees at once. Journal positions continue after `last_event`.
  LiveSession(LiveClock& clock, std::shared_ptr<const Platform> platform, UnixTime origin, std::size_t window,
              const std::vector<Layout>& layouts, const LiveRun& run, std::uint64_t last_event);

  UnixTime now() const { return clock_.now(); }
  const LiveClock& clock() const { return clock_; }
  void clock_stepped(Time by);
  Time inside_now() const { return belief_.inside(clock_.now()); }  // of the belief
  const Platform& platform() const { return *platform_; }
  const std::shared_ptr<const Platform>& shared_platform() const { return platform_; }
  const CostModel& cost() const { return cost_; }
  const Cluster& cluster() const { return session_->cluster(); }
  const Belief& belief() const { return belief_; }
  Belief& belief() { return belief_; }
  LiveFleet& fleet() { return *fleet_; }
  const LiveFleet& fleet() const { return *fleet_; }
  Session& session() { return *session_; }
  LiveJournal& journal() { return *journal_; }
  const LiveJournal& journal() const { return *journal_; }

  // A line of the journal that is not part of the run; `fields` is the inside of a JSON object.
  void note(const std::string& kind, const std::string& fields) { journal_->note(inside_now(), kind, fields); }
  void tell(const Event& event) { fleet_->tell(event); }

  // A waiting job becomes visible to the policy. kInvalid: it fits no slice of the fleet.
  Result<Ok> show(const JobRecord& job, UnixTime presented_deadline, UnixTime arrived, bool made_up = false);
  // One that ran already, at `last` or until then: it has left what its estimate leaves of the time it has run.
  Result<Ok> found_running(const JobRecord& job, GpuId gpu, PlacementId where, UnixTime last, double others = 0);
  Result<Ok> found_with(const JobRecord& job, GpuId gpu, PlacementId where, Time left);  // until its expected end
  // A running job with another time left, by a new row. REQUIRES: the fleet has nothing to tell of the old one.
  void revise(const JobRecord& job, GpuId gpu, PlacementId where, Time left);
  // The job leaves the belief: it ran to its end (`completed`), or it is taken out. Jobs that are not visible: nothing.
  void leave(QueueId id, UnixTime when, bool completed);
  // Call this at once, before anything else is reported or decided: its start failed.
  void take_back(QueueId id);
  // At once: the GPU accepts no new jobs. The end of this state is reported as an event (Event::unblocked), because it
  // is a reason to decide.
  void block(int gpu);
  // What a GPU shows now, in place of what was believed. False: not yet, for something else is still to be told, or a slice
  // that is gone is in use by a job that is about to leave.
  bool believe(int gpu, Layout shown);
  void withdraw(QueueId id) { leave(id, now(), false); }

  bool waits(QueueId id) const;                               // the belief has it waiting
  int stops(QueueId id) const;                                // of its row
  std::optional<UnixTime> expected_finish(QueueId id) const;  // of a running job
  Time time_to_finish(QueueId id) const;                      // by its table; 0 of one that does not run
  double share_left(const JobRecord& job) const;              // of the whole job, as the belief has it
  std::vector<QueueId> overdue() const;                       // jobs past their expected end by kOverrunGrace
  void tell_overrun(QueueId id) { tell(Event::overrun(inside_now(), belief_.row(id))); }
  UnixTime next_due() const;  // an expected end, or an operation to be tried again

  // When the last plan asked for another decision, in belief time; kNever: with the next event.
  Time asked_at() const { return asked_at_; }
  void asked_at(Time instant) { asked_at_ = instant; }

  // Makes room for what one step can bring, by dropping rows of the past. True: rows have new numbers.
  bool compact_if_needed(std::size_t window);
  void begin_step() { fleet_->set_clock(inside_now()); }

 private:
  void found(JobId row, GpuId gpu, PlacementId where, Time left);

  LiveClock& clock_;
  std::shared_ptr<const Platform> platform_;
  CostModel cost_{CostModel::kHardware, {}};
  Belief belief_;
  std::unique_ptr<LiveJournal> journal_;
  std::unique_ptr<LiveFleet> fleet_;
  std::unique_ptr<Session> session_;
  Time asked_at_ = kNever;
};

}  // namespace smartmig
