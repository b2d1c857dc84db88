// Decides when the jobs of a fork arrive in a future: not before their begin time, not while somebody holds them, only
// once their dependencies have started or ended, and with no more of an array or a group at once than its limit. A
// future assumes that every running job ends well.
//
// FutureArrivals hears what happens and says which jobs arrive. Of jobs with a limit, it shows the ones that the daemon
// would show (visible_jobs.h): the first ones of each list, as many as the limit leaves. A shown job that waits and
// drops out of this set is taken back. FutureFleet is a SimFleet with these arrivals; a job that arrives at the instant
// of an event belongs to the same decision.
//
// Invariants: a job that is `held`, or waits for a job without a start, has no start. A job whose dependency can no
// longer hold is cancelled, and the jobs that wait for it learn that. Pure; no clock. O(log n) for each event of a job
// without a limit; for a job with one, plus the jobs that its limits leave.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "eval/futures.h"
#include "model/cluster.h"
#include "sim/sim_fleet.h"

namespace smartmig {

// A fleet as found at some moment, and the Cluster that represents it. Every job that has arrived is submitted at that
// moment, in order of submit, and then found running or found waiting with the work it has left (model/event.h).
// `decide` reads such a fleet from JSON; `eta` and `whatif` copy it from the live one.
struct FoundJob {
  GpuId gpu = kNoGpu;  // the GPU where it runs; kNoGpu: it waits
  PlacementId where = kNoPlacement;
  Time left{};           // of a running job
  double remaining = 1;  // of a waiting job: share of the whole job, 0..1; below 1 it has run before
  bool comes_later = false;
};

struct FoundFleet {
  std::shared_ptr<const Platform> platform;
  std::shared_ptr<const JobTable> jobs;
  CostModel cost;
  Time now{};
  std::vector<Layout> layouts, targets;  // by GPU; equal under paper costs
  std::vector<FoundJob> found;           // by job
};

// The cluster at fleet.now, within a new decision, without news. REQUIRES: each running job has its own slice of the
// layouts, and can run on it.
Cluster cluster_of(const FoundFleet& fleet);
// Says that a job which arrives at `at` has run before. REQUIRES: its `remaining` is below 1.
Event found_with_progress(const FoundFleet& fleet, JobId job, Time at);

class FutureArrivals {
 public:
  explicit FutureArrivals(const Fork& fork);

  // Whether the job is there at the fork's moment: it runs, the live policy sees it, or it is due.
  bool is_there(std::size_t job) const { return jobs_[job].phase >= Phase::kShown; }
  bool brings_news() const { return news_; }  // a job is due that the live policy has not seen

  void started(JobId job, Time now);
  void stopped(JobId job) { change(index(job), Phase::kShown); }
  void ended(JobId job, Time now);
  // The next job that arrives now, or is taken back. False: none.
  bool next(Time now, const Cluster& cluster, Event& event);
  Time next_begin() const { return begins_.empty() ? kNever : begins_.begin()->first; }
  NoStart no_start(std::size_t job) const;  // REQUIRES: the future is over

 private:
  enum class Phase : std::uint8_t { kWaits, kCancelled, kDue, kShown, kRuns, kOver };
  using Key = std::tuple<std::int64_t, Time, Time, std::uint64_t, std::size_t>;  // the last element is the job
  struct State {
    Phase phase = Phase::kWaits;
    std::size_t open = 0;  // dependencies that do not hold yet
    int list = -1;
  };
  struct Dependent {
    std::size_t job;
    ForkAfter::When when;
  };
  struct List {
    int limit = -1;  // index into the fork's limits
    std::set<Key> jobs;
  };
  Key key_of(std::size_t job) const;
  void put_in_list(std::size_t job, std::map<std::tuple<int, bool, std::uint32_t>, int>& lists);
  void may_come(std::size_t job, Time now);
  void comes(std::size_t job);
  void holds(std::size_t job, Time now);  // one of the job's dependencies
  void over(std::size_t job, bool well, Time now);
  void change(std::size_t job, Phase to);
  std::vector<std::size_t> chosen() const;  // among the jobs with a limit
  void choose();

  const Fork& fork_;
  std::vector<State> jobs_;
  std::vector<std::vector<Dependent>> dependents_;
  std::vector<List> lists_;  // jobs with a limit that may arrive or wait: of an array, or of a user in a group
  std::vector<int> busy_;    // by limit
  std::set<std::pair<Time, std::size_t>> begins_;
  std::deque<std::pair<std::size_t, bool>> due_;  // true: arrives, false: is taken back
  bool choose_ = false, news_ = false;
};

class FutureFleet : public Fleet {
 public:
  // `found`: the fork's, without the jobs that arrive later. All references must outlive this.
  FutureFleet(const FoundFleet& found, const Cluster& cluster, FutureArrivals& arrivals);
  void stop_before(Time instant) override { horizon_ = instant; }
  bool next(const Cluster& cluster, Event& event) override;
  bool also_happens(const Cluster& cluster, Event& event) override;
  void begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) override;
  Time first_start(std::size_t job) const { return starts_[job]; }  // in this future; below 0: none

 private:
  bool arrival(Time now, const Cluster& cluster, Event& event);
  void see(const Event& event);

  const FoundFleet& found_;
  FutureArrivals& arrivals_;
  SimFleet fleet_;
  Time horizon_ = kNever;
  JobId with_progress_ = kNoJob;  // arrived last and has run before
  std::vector<Time> starts_;
};

}  // namespace smartmig
