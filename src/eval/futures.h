// Futures of a live fleet: its state is forked into the simulator and run to the end. Answers `eta` (many futures with
// uncertain run times), `whatif` (another policy, more GPUs, one more job) and the priced alternatives of `why`.
//
// A fork holds only the unfinished jobs of a cluster, renumbered in order of submit, and makes its own Cluster of the
// present (eval/future_arrivals.h). So the live cluster is never touched and may use a growing table. Running jobs keep
// their slices and their remaining work; reshapes under way begin again. No job arrives that is not in the fork. Jobs
// that are held, or that wait for their begin time, for others, or for the limit of their array or group, arrive as in
// future_arrivals.h.
// Uncertainty: a job's remaining time is drawn from the distribution that plans use, Job::spread about its work, given
// that it exceeds what has run (model/run_quantiles.h); without noise it is the median. In a future the policy has its
// present beliefs, and hears of ends and overruns as they happen (sim/two_worlds.h). The same seed gives the same
// future.
// A policy that leaves jobs waiting for ever, or reshapes for ever, gives an Error with a sentence.
// Threads: pure functions, except for questions with a time limit; several threads may share a Fork, read only.
#pragma once
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eval/policy_stack.h"
#include "model/prices.h"
#include "sched/session.h"

namespace smartmig {

struct ForkAfter {  // a dependency
  enum When : std::uint8_t { kEndsWell, kEnds, kEndsBadly, kStarts };
  std::uint64_t job = 0;  // ForkJob::key; a job that is not in the fork was cancelled
  When when = kEndsWell;
};

struct ForkJob {
  JobId live = kNoJob;  // kNoJob: added to the fork
  Job job;
  std::string name;
  Time declared = kNever;  // the deadline that defines lateness; kNever: none
  double remaining = 1;    // share of the whole job
  Time left{};             // while running: until its expected finish; below 0: it has overrun by this much
  Time started{-1};        // first start, if it has started
  GpuId gpu = kNoGpu;      // while running
  PlacementId where = kNoPlacement;
  std::uint32_t user = 0;
  double cpus = 0;  // host CPUs; 0: in proportion to the slice
  int host_mem_mib = 0;
  int asked_slices = 0;                 // the part of its compute slices that counts for its user; 0: all
  std::array<int, 3> caps{-1, -1, -1};  // ShareAsked::caps

  // For a waiting job that the live policy does not see (`live` is kNoJob): when it arrives.
  std::uint64_t key = 0;  // its name in `after`
  bool held = false;      // until somebody releases it: never, in a future
  Time begin{};           // starts no earlier
  std::vector<ForkAfter> after;
  int array = -1, group = -1;  // indices into Fork::limits, for any job; -1: none
  int priority = 0;
};

// What jobs share in addition to slices; 0: no limit.
struct ForkHost {
  double cpus = 0, mem_mib = 0;
  int user_slices = 0;         // compute slices that the running jobs of one user may ask for
  std::vector<int> caps = {};  // ShareLimits::caps
};

// Gives waiting jobs of a future the deadlines with which the live policy would see them: between users those move as
// time passes (queue/jobs/admission.h). One object for each future.
class DeadlinesAhead {
 public:
  virtual ~DeadlinesAhead() = default;
  virtual void started(std::size_t job, Time now) = 0;
  // Before a decision: sets deadline and deadline_made_up of jobs that wait. `jobs`: by their numbers in the fork.
  virtual void present(const Cluster& cluster, Time now, std::vector<Job>& jobs) = 0;
};

struct Fork {
  std::shared_ptr<const Platform> platform;
  CostModel cost;
  Time now{};
  std::string reference_gpu;
  std::vector<std::string> kinds;
  std::vector<ForkJob> jobs;  // in order of submit
  std::vector<Layout> layouts, targets;
  std::vector<bool> blocked;
  ForkHost host;
  std::vector<int> limits;                                          // jobs at once, per array or group
  std::map<std::pair<std::uint64_t, std::string>, int> limit_of;    // index for an array (by number) or a group
  std::function<std::unique_ptr<DeadlinesAhead>()> deadlines = {};  // null: they stay as they are
  // The policy of this future has already decided about this state; its next decision comes with the next event, or at
  // `look_again`, for which it asked.
  bool decided = false;
  Time look_again = kNever;
};

// What the daemon knows of a job in addition to the cluster. Without it, the job's deadline is the declared one.
struct ForkFacts {
  Time declared = kNever;
  std::uint32_t user = 0;
  double cpus = 0;
  int host_mem_mib = 0;
  int asked_slices = 0;  // as in ForkJob
};
Fork fork(const Cluster& cluster, const std::function<ForkFacts(JobId)>& facts = {});
// Adds a job that arrives now. kInvalid: it fits no slice.
Result<Fork> with_job(Fork fork, const Job& job, const std::string& kind, std::string name, ForkFacts facts = {});
// Most GPUs of a fork: limits what a question may cost the machine that answers it.
inline constexpr std::size_t kMostForkGpus = 1024;
// Adds "1xa100-40gb" to the GPUs, whole and idle. kInvalid: unreadable, or more than kMostForkGpus in total.
Result<Fork> with_gpus(Fork fork, std::string_view more);

// Makes the policy of a future; called once per future, for the fork's platform.
using PolicyMaker = std::function<Result<NamedPolicy>(std::shared_ptr<const Platform>)>;
// Makes the stack (policy_stack.h); guard(POLICY) counts as POLICY.
PolicyMaker maker_of(PolicySpec spec);

enum class NoStart : std::uint8_t { kStarts, kHeld, kWaitsForHeld, kDependencyFails };

struct JobOutcome {
  JobId live = kNoJob;
  Time start{}, finish{};        // start: the next one; for a running job its first; kNever: none
  std::optional<double> late_s;  // nullopt: no deadline, or no end
  NoStart no_start = NoStart::kStarts;
};

struct Outcome {
  std::string policy;
  double energy_j = 0;  // of all boards, from now to the last finish
  double late_s = 0, mean_late_s = 0;
  std::size_t late_jobs = 0;
  Time last_finish{};
  std::vector<JobOutcome> jobs;  // as numbered in the fork
  double cost(const EnergyPrices& prices) const { return prices.cost(energy_j, late_s); }
};

struct Noise {
  std::uint64_t seed = 0;
  std::uint64_t future = 0, of = 1;  // this future's number, and how many divide the quantiles
};

struct Spread {
  Time p10{}, p50{}, p90{};
};
struct Eta {
  JobId live = kNoJob;
  Time expected_start{}, expected_finish{};  // if every job takes its expected time
  Spread start, finish;
  Time deadline = kNever;
  std::optional<double> on_time_ratio;  // share of the futures in which it is not late; nullopt as for late_s
  NoStart no_start = NoStart::kStarts;  // other than kStarts: all instants are kNever
};
// A time limit by the host's clock, for a long queue on a busy machine. A future that is incomplete when it expires is
// abandoned (kTimeout).
class LookLimit {
 public:
  using Clock = std::chrono::steady_clock;
  LookLimit() = default;  // no limit
  explicit LookLimit(Clock::duration within) : within_(within), until_(Clock::now() + within) {}
  bool over() const { return until_ && Clock::now() >= *until_; }
  LookLimit twice() const {
    LookLimit longer;
    if (until_) longer = LookLimit(2 * within_);
    return longer;
  }

 private:
  Clock::duration within_{};
  std::optional<Clock::time_point> until_;
};

// `journal`, if given, receives every event of the future from now on (for future_lanes.h).
Result<Outcome> run_future(const Fork& fork, const PolicyMaker& policy, std::optional<Noise> noise = {},
                           Journal* journal = nullptr, const LookLimit& limit = {});

struct Etas {
  std::vector<Eta> jobs;  // for every job of the fork, in its order
  int futures = 0;        // completed: fewer than asked for, perhaps none, if the time ran out
};
// The expected future, in which every job takes its expected time, may take twice the limit. Without other futures, the
// spreads are the expected instants. `journal`, if given, receives the expected future's events; `expected`,
// its figures.
Result<Etas> eta(const Fork& fork, const PolicyMaker& policy, int futures, std::uint64_t seed, LookLimit limit = {},
                 Journal* journal = nullptr, Outcome* expected = nullptr);

}  // namespace smartmig
