// What is believed about the fleet: layouts, running jobs, progress, watts and joules. A pure fold over the journal's
// events. Copyable, so that a what-if or a planner works on a copy. For every policy and every world, only
// refusal_of_stop(), refusal_of_reshape() and refusal_of_start() judge whether an action is legal. Not thread-safe; one
// owner.
//
// Progress  A job's remaining time is kept in integer microseconds on the slice type it last ran on. It is
//           rescaled only when the job changes to a type of another speed, so a job that stays, or moves between equal
//           slices, keeps its finish to the microsecond. Where neighbours slow each other (Job::crowding), a finish
//           assumes the present neighbours and moves when one comes or goes; remaining times are those of the job
//           table.
// Energy    Each GPU is integrated lazily: before anything changes, the watts of the past interval x its length are
//           added. Jobs share the active watts (above idle) by Platform::Model::energy_weight(). A job that its
//           neighbours slow draws less in proportion, since its work takes the same joules.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/cost.h"
#include "model/event.h"
#include "model/job_table.h"
#include "model/plan.h"
#include "model/platform.h"

namespace smartmig {

enum class JobPhase : std::uint8_t { kAbsent, kQueued, kRunning, kDone, kWithdrawn };

struct JobState {
  JobPhase phase = JobPhase::kAbsent;
  PlacementId where = kNoPlacement;        // while it runs
  TypeId type = kNoType;                   // of the current or last run; kNoType: it never ran
  GpuId gpu = kNoGpu;                      // of the current or last run
  JobId previous = kNoJob, next = kNoJob;  // the unfinished jobs are a list in order of arrival
  Time remaining{};                        // on `type`: when stopped; for a running job, as believed at `since`
  Time since{};                            // when the current run began to make progress (after the hold of a restart)
  Time finish{};                           // expected while the job runs, actual once it is done
  Time first_start{-1};
  double joules = 0;  // active energy attributed to the job
  double meter_mark = 0;
  std::uint64_t stopped_in = 0;  // the decision of the last stop
  std::uint32_t stops = 0;
  std::uint32_t arrival = 0;  // how many jobs arrived before it
};

struct GpuState {
  Layout layout;  // instances that exist
  Layout target;  // what it is to become; equal to layout when nothing is under way
  Layout busy;
  int busy_slices = 0;
  int computing = 0;             // those whose jobs compute something (Job::idle)
  double added = 0, weight = 0;  // sums over running jobs
  double watts = 0;
  double active_per_weight = 0;  // (watts - idle) / weight
  Time since{};                  // integrated up to here
  double joules = 0;
  double meter = 0;              // integral of active_per_weight over time
  std::int64_t slice_us = 0;     // integral of busy_slices, in slice-microseconds
  std::array<JobId, 32> job_at;  // by placement; kNoJob where idle
  bool blocked = false;

  Layout usable() const { return blocked ? Layout{} : layout & target; }
  Layout free() const { return usable() - busy; }
};

struct Counters {
  std::uint64_t arrivals = 0, completions = 0;
  std::uint64_t withdrawals = 0;   // a job that returns to the queue is withdrawn and arrives again
  std::uint64_t preemptions = 0;   // stops and size changes
  std::uint64_t moves = 0;         // to another slice of the same size
  std::uint64_t repartitions = 0;  // requested changes of a GPU's layout
};

// Identifies this object. A copy gets another identity; a moved object keeps its own. A policy that keeps what it
// derived from a cluster can tell whether it still sees the same one. Never reaches any output.
class Identity {
 public:
  Identity() : value_(fresh()) {}
  Identity(const Identity&) : value_(fresh()) {}
  Identity(Identity&& other) noexcept : value_(std::exchange(other.value_, fresh())) {}
  Identity& operator=(const Identity&) {
    value_ = fresh();
    return *this;
  }
  Identity& operator=(Identity&& other) noexcept {
    value_ = std::exchange(other.value_, fresh());
    return *this;
  }
  std::uint64_t value() const { return value_; }

 private:
  static std::uint64_t fresh();
  std::uint64_t value_;
};

enum class Refusal : std::uint8_t {
  kNone,
  kNoSuchJob,
  kNotQueued,
  kNotRunning,
  kNotPreemptible,
  kNoSuchGpu,
  kNoSuchSlice,
  kSliceGoing,
  kSliceBusy,
  kDoesNotFit,
  kGpuBlocked
};

class Cluster {
 public:
  // Every GPU starts at `now`, idle, with its layout of `initial` (one per GPU); joules count from there.
  Cluster(std::shared_ptr<const Platform> platform, std::shared_ptr<const JobTable> jobs, CostModel cost,
          std::vector<Layout> initial, Time now = Time{0});

  void apply(const Event& event);  // REQUIRES: legal, and not before now()

  // The same belief over another table: its job i is keep[i] of this one, all other jobs are forgotten. This keeps a
  // growing table to the size of what is alive. REQUIRES: every unfinished job is kept, in order of arrival.
  Cluster renumbered(std::shared_ptr<const JobTable> jobs, std::span<const JobId> keep) const;
  Refusal refusal_of_stop(JobId job) const;
  Refusal refusal_of_reshape(const Reshape& reshape) const;
  Refusal refusal_of_start(const Start& start) const;

  // Events from the world since the last decision, so that a policy can work incrementally.
  std::span<const Event> news() const { return news_; }
  void begin_decision() { ++decision_; }
  void end_decision(bool refused) {
    news_.clear();
    refused_ = refused;
  }
  // Time passes without an event. REQUIRES: not before now().
  void pass(Time now);
  bool last_plan_refused() const { return refused_; }  // an incremental policy must then recompute everything
  std::uint64_t decision() const { return decision_; }
  std::uint64_t identity() const { return identity_.value(); }  // no two clusters share one; 0 is none

  Time now() const { return now_; }
  const Platform& platform() const { return *platform_; }
  const JobTable& jobs() const { return *jobs_; }
  const CostModel& cost() const { return cost_; }
  const std::vector<GpuState>& gpus() const { return gpus_; }
  const GpuState& gpu(GpuId id) const { return gpus_[index(id)]; }
  const JobState& state(JobId id) const { return states_[index(id)]; }
  const std::vector<JobState>& states() const { return states_; }
  const Counters& counters() const { return counters_; }
  std::size_t unfinished() const { return unfinished_; }
  std::size_t running() const { return running_; }
  JobId first_unfinished() const { return head_; }
  JobId next_unfinished(JobId id) const { return states_[index(id)].next; }

  // The running job's time divided by its time in the job table, given the present neighbours on its GPU.
  double crowding(JobId job) const { return jobs_->has_crowding() ? crowding_of(job) : 1; }
  // The time left, by the job table, of a job that has run, on the type where it runs or last ran.
  Time time_left(JobId job) const {
    const JobState& s = states_[index(job)];
    if (s.phase != JobPhase::kRunning) return s.remaining;
    return by_table(job, s.finish - std::max(now_, s.since));
  }
  // The same for a running job, plus the rest of a restart's hold: now + this is its finish if nobody slows it.
  Time time_to_finish(JobId job) const { return by_table(job, states_[index(job)].finish - now_); }
  // The time that the job would need on a slice of that type from now, without restart cost. kCannotRun if it cannot
  // run there.
  Time remaining_on(JobId job, TypeId type) const;
  // When it would finish there: now + remaining, plus the restart hold if it has progress and must resume. For a job
  // that runs there: its expected finish.
  Time finish_on(JobId job, TypeId type) const;

  double joules(GpuId gpu) const;  // up to now()
  double total_joules() const;
  double attributed_joules(JobId job) const;
  double energy_weight(JobId job) const;  // a running job's weight when its GPU's watts above idle are shared out

 private:
  void settle(GpuState& gpu);
  void refresh_power(GpuId id, GpuState& gpu);
  void start(const Event& event);
  void find(const Event& event);
  double crowding_of(JobId job) const;
  Time by_table(JobId job, Time left) const {  // a running job's `left` in table time, given the present neighbours
    return jobs_->has_crowding() ? rounded(double(left.count()) / crowding_of(job)) : left;
  }
  void book_joules(JobId job);
  void book_crowded(const GpuState& gpu);
  void crowd(GpuId id, GpuState& gpu, JobId came);
  void take_slice(const Event& event, JobState& job);
  void leave_slice(JobId id, JobState& job);
  void remove_unfinished(JobId id);

  std::shared_ptr<const Platform> platform_;
  std::shared_ptr<const JobTable> jobs_;
  CostModel cost_;
  Time now_{};
  std::vector<GpuState> gpus_;
  std::vector<JobState> states_;
  std::vector<Event> news_;
  JobId head_ = kNoJob, tail_ = kNoJob;
  std::size_t unfinished_ = 0, running_ = 0;
  Counters counters_;
  std::uint64_t decision_ = 0;
  bool refused_ = false;
  Identity identity_;  // renewed by events that incremental policies do not follow: withdrawals, blocks, found jobs
};

// A sentence for people: which action was refused, and why.
std::string explain(const Cluster& cluster, Refusal refusal, JobId job, GpuId gpu, PlacementId where);

}  // namespace smartmig
