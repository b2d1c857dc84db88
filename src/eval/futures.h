// Futures of a living fleet: its state is forked into the simulator and run to the end. Answers `eta` (many futures
// with uncertain run times), `whatif` (another policy, more GPUs, one more job) and the priced alternatives of `why`.
//
// A fork holds the unfinished jobs of a cluster only, renumbered in order of submit, and leads a Cluster of its own to
// the present (eval/found_fleet.h), so the live one is never touched and may be a growing table. Running jobs keep their
// slices and what they have left; reshapes under way begin anew. No job comes that is not in the fork; those that are
// held, wait for their begin, for others, or for the limit of their array or group come as future_arrivals.h says.
// Uncertainty: what is left of a job is drawn from the distribution that plans are made by, Job::spread about its work,
// longer than what has run (model/run_quantiles.h); without noise it is the median. The policy believes in a future what
// it believes now, and hears of ends and overruns as they come (sim/two_worlds.h); same seed, same future.
// A policy that leaves jobs waiting for ever, or reshapes for ever, gives an Error with a sentence.
// Thread rule: pure functions; a Fork may be shared, read only, by threads.
#pragma once
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
  std::uint64_t job = 0;  // ForkJob::key; one that is not in the fork was cancelled
  When when = kEndsWell;
};

struct ForkJob {
  JobId live = kNoJob;  // kNoJob: added to the fork
  Job job;
  std::string name;
  Time declared = kNever;  // the deadline that lateness is counted by; kNever: none
  double remaining = 1;    // share of the whole job
  Time left{};             // while running: until its expected finish; below 0: it has overrun by so much
  Time started{-1};        // first start, where it has had one
  GpuId gpu = kNoGpu;      // while running
  PlacementId where = kNoPlacement;
  std::uint32_t user = 0;
  double cpus = 0;  // of the host; 0: in proportion to the slice
  int host_mem_mib = 0;
  int asked_slices = 0;  // what counts for its user of the compute slices that it gets; 0: all of them

  // Of one that waits and that the living policy does not see (`live` is kNoJob): when it comes.
  std::uint64_t key = 0;  // names it in `after`
  bool held = false;      // until somebody releases it, so for ever
  Time begin{};           // starts no earlier
  std::vector<ForkAfter> after;
  int array = -1, group = -1;  // indices of Fork::limits, of any job; -1: none
  int priority = 0;
};

// What jobs share besides slices; 0: no limit.
struct ForkHost {
  double cpus = 0, mem_mib = 0;
  int user_slices = 0;  // compute slices that the running jobs of one user asked for
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
  std::vector<int> limits;                                        // jobs of an array or group at once
  std::map<std::pair<std::uint64_t, std::string>, int> limit_of;  // index of an array's (by number) or a group's
  // The policy whose future this is has decided about this very state: its next decision comes with the next event.
  bool decided = false;
};

// What the daemon knows of a job beyond the cluster; without it the job's deadline is the declared one.
struct ForkFacts {
  Time declared = kNever;
  std::uint32_t user = 0;
  double cpus = 0;
  int host_mem_mib = 0;
  int asked_slices = 0;  // as ForkJob has it
};
Fork fork(const Cluster& cluster, const std::function<ForkFacts(JobId)>& facts = {});
// A job that comes now. kInvalid: it fits no slice.
Result<Fork> with_job(Fork fork, const Job& job, const std::string& kind, std::string name, ForkFacts facts = {});
// GPUs of a fork with more of them: what a question may cost the machine that answers it.
inline constexpr std::size_t kMostForkGpus = 1024;
// "1xa100-40gb" beside the GPUs that are there, whole and idle. kInvalid: what cannot be read, or more than
// kMostForkGpus together.
Result<Fork> with_gpus(Fork fork, std::string_view more);

// Makes the policy of a future; called once per future, for the fork's platform.
using PolicyMaker = std::function<Result<NamedPolicy>(std::shared_ptr<const Platform>)>;
// Makes the stack (policy_stack.h); guard(POLICY) is POLICY here.
PolicyMaker maker_of(PolicySpec spec);

enum class NoStart : std::uint8_t { kStarts, kHeld, kWaitsForHeld, kDependencyFails };

struct JobOutcome {
  JobId live = kNoJob;
  Time start{}, finish{};        // start: the next one, of a job that runs its first; kNever: none
  std::optional<double> late_s;  // nothing: it has no deadline, or no end
  NoStart no_start = NoStart::kStarts;
};

struct Outcome {
  std::string policy;
  double energy_j = 0;  // of all boards, from now to the last finish
  double late_s = 0, mean_late_s = 0;
  std::size_t late_jobs = 0;
  Time last_finish{};
  std::vector<JobOutcome> jobs;  // as in the fork
  double cost(const EnergyPrices& prices) const { return prices.cost(energy_j, late_s); }
};

struct Noise {
  std::uint64_t seed = 0;
  std::uint64_t future = 0, of = 1;  // of so many, which share the cases
};
// `journal`, where given, takes every event of the future from now on (future_lanes.h reads it).
Result<Outcome> run_future(const Fork& fork, const PolicyMaker& policy, std::optional<Noise> noise = {},
                           Journal* journal = nullptr);

struct Spread {
  Time p10{}, p50{}, p90{};
};
struct Eta {
  JobId live = kNoJob;
  Time expected_start{}, expected_finish{};  // if every job takes as long as is expected now
  Spread start, finish;
  Time deadline = kNever;
  std::optional<double> on_time_ratio;  // share of the futures in which it is not late; nothing as late_s
  NoStart no_start = NoStart::kStarts;  // else all instants are kNever
};
// Of every job of the fork, in its order. With no futures the spreads are the expected instants. `journal`, where given,
// takes the events of the future in which all goes as expected; `expected` its figures.
Result<std::vector<Eta>> eta(const Fork& fork, const PolicyMaker& policy, int futures, std::uint64_t seed,
                             Journal* journal = nullptr, Outcome* expected = nullptr);

}  // namespace smartmig
