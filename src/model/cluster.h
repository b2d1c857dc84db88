// What is believed about the fleet: layouts, running jobs, progress, watts and joules. A pure fold over the journal's
// events; copyable, so that a what-if or a planner works on a copy. refusal_of_stop(), refusal_of_reshape() and
// refusal_of_start() alone judge whether an action is legal, for every policy and every world. Not thread-safe; one
// owner.
//
// Progress  A job's remaining time is kept in integer microseconds on the slice type it last ran on; it is rescaled only
//           when the job changes to a type of another speed, so a job that stays, or moves between equal slices, keeps
//           its finish to the microsecond. Where neighbours slow each other (Job::crowding) a finish is as of those that
//           run now, and moves when one comes or goes; remaining times are those of the job table.
// Energy    Each GPU is integrated lazily: watts of the interval that ended x its length, settled before anything
//           changes. A job's share of the active watts (above idle) is by Platform::Model::energy_weight(). One that its
//           neighbours slow draws less by as much: its work takes the same joules.
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
  PlacementId where = kNoPlacement;        // while running
  TypeId type = kNoType;                   // of the current or last run; kNoType: never ran
  GpuId gpu = kNoGpu;                      // of the current or last run
  JobId previous = kNoJob, next = kNoJob;  // unfinished jobs in order of arrival
  Time remaining{};                        // on `type`: when stopped; of one that runs, at `since`, as thought then
  Time since{};                            // when the current run began to make progress (after a restart's hold)
  Time finish{};                           // expected while running, true once done
  Time first_start{-1};
  double joules = 0;  // attributed active energy
  double meter_mark = 0;
  std::uint64_t stopped_in = 0;  // decision of the last stop
  std::uint32_t stops = 0;
  std::uint32_t arrival = 0;  // how many came before it
};

struct GpuState {
  Layout layout;  // instances that exist
  Layout target;  // what it is to become; equal to layout when nothing is under way
  Layout busy;
  int busy_slices = 0;
  int computing = 0;             // of these, slices whose jobs compute something (Job::idle)
  double added = 0, weight = 0;  // sums over running jobs
  double watts = 0;
  double active_per_weight = 0;  // (watts - idle) / weight
  Time since{};                  // settled until
  double joules = 0;
  double meter = 0;              // integral of active_per_weight
  std::int64_t slice_us = 0;     // integral of busy_slices, microseconds
  std::array<JobId, 32> job_at;  // by placement; kNoJob where idle
  bool blocked = false;

  Layout usable() const { return blocked ? Layout{} : layout & target; }
  Layout free() const { return usable() - busy; }
};

struct Counters {
  std::uint64_t arrivals = 0, completions = 0;
  std::uint64_t withdrawals = 0;   // one that is shown anew is withdrawn and arrives again
  std::uint64_t preemptions = 0;   // stops and size changes
  std::uint64_t moves = 0;         // same size, other slice
  std::uint64_t repartitions = 0;  // changes of a GPU's layout asked for
};

// Which object this is: a copy is another one, a moved one stays itself. So a policy that keeps what it derived from a
// cluster can tell whether it still looks at the same one. Never reaches any output.
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
  // Every GPU starts with `initial` layouts (one per GPU), idle, at `now`: joules count from there.
  Cluster(std::shared_ptr<const Platform> platform, std::shared_ptr<const JobTable> jobs, CostModel cost,
          std::vector<Layout> initial, Time now = Time{0});

  void apply(const Event& event);  // REQUIRES: legal, and not before now()

  // The same belief over another table: its job i is keep[i] of this one, all else is forgotten. A table that grows is
  // so kept to the size of what is alive. REQUIRES: every unfinished job is kept, in order of arrival.
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
  // Time passes and nothing happens. REQUIRES: not before now().
  void pass(Time now);
  bool last_plan_refused() const { return refused_; }  // then an incremental policy must look at everything anew
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

  // How many times as long as by the job table a running job takes, beside those that run on its GPU now.
  double crowding(JobId job) const { return jobs_->has_crowding() ? crowding_of(job) : 1; }
  // Time by the job table that is left of one that ran, on the type where it runs or last ran.
  Time time_left(JobId job) const {
    const JobState& s = states_[index(job)];
    if (s.phase != JobPhase::kRunning) return s.remaining;
    return by_table(job, s.finish - std::max(now_, s.since));
  }
  // The same of a running job, with what is left of a restart's hold: now + this is its finish where nobody slows it.
  Time time_to_finish(JobId job) const { return by_table(job, states_[index(job)].finish - now_); }
  // Time the job still needs on a slice of that type if it were put there now, restart cost apart; kCannotRun if it
  // cannot run there.
  Time remaining_on(JobId job, TypeId type) const;
  // When it would finish there: now + restart hold if it has progress and must resume + remaining; of one that runs
  // there, as expected now.
  Time finish_on(JobId job, TypeId type) const;

  double joules(GpuId gpu) const;  // up to now
  double total_joules() const;
  double attributed_joules(JobId job) const;
  double energy_weight(JobId job) const;  // of a running one, in what its GPU draws above idle

 private:
  void settle(GpuState& gpu);
  void refresh_power(GpuId id, GpuState& gpu);
  void start(const Event& event);
  void find(const Event& event);
  double crowding_of(JobId job) const;
  Time by_table(JobId job, Time left) const {  // of a running job's time beside those that run now
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
  Identity identity_;  // renewed by what incremental policies do not follow: withdrawals, blocks, found jobs
};

// A sentence for a person: which action was refused and why.
std::string explain(const Cluster& cluster, Refusal refusal, JobId job, GpuId gpu, PlacementId where);

}  // namespace smartmig
