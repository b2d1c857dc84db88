// When the jobs of a fork come, in a future: not before their begin time, not while somebody holds them, once what they
// depend on has started or ended, and no more of an array or a group at once than its limit. A future assumes that every
// job which runs ends well.
//
// FutureArrivals is told what happens and says who comes. Of jobs with a limit it shows those that the daemon would show
// (visible_jobs.h): as many of the first ones of each list as the limit leaves; one that is shown, waits and is no longer
// among them is taken back. FutureFleet is a SimFleet with these arrivals; what comes at the instant of an event belongs
// to the same decision.
//
// Invariants: a job that is `held`, or waits for one that has no start, has none. A job whose dependency can no longer
// hold is cancelled, and those that wait for it learn that. Pure; no clock. O(log n) for each event of a job without a
// limit; with one, also the jobs that its limits leave.
#pragma once
#include <deque>
#include <map>
#include <set>

#include "eval/found_fleet.h"
#include "eval/futures.h"
#include "sim/sim_fleet.h"

namespace smartmig {

class FutureArrivals {
 public:
  explicit FutureArrivals(const Fork& fork);

  // What is there at the fork's moment: what runs, what the living policy sees, and what is due.
  bool is_there(std::size_t job) const { return jobs_[job].phase >= Phase::kShown; }
  bool brings_news() const { return news_; }  // something is due that the living policy has not seen

  void started(JobId job, Time now);
  void stopped(JobId job) { change(index(job), Phase::kShown); }
  void ended(JobId job, Time now);
  // Who comes now, or is taken back. False: nobody.
  bool next(Time now, const Cluster& cluster, Event& event);
  Time next_begin() const { return begins_.empty() ? kNever : begins_.begin()->first; }
  NoStart no_start(std::size_t job) const;  // REQUIRES: the future is over

 private:
  enum class Phase : std::uint8_t { kWaits, kCancelled, kDue, kShown, kRuns, kOver };
  using Key = std::tuple<std::int64_t, Time, Time, std::uint64_t, std::size_t>;  // the last: the job
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
  void holds(std::size_t job, Time now);  // one dependency
  void over(std::size_t job, bool well, Time now);
  void change(std::size_t job, Phase to);
  std::vector<std::size_t> chosen() const;  // of those with a limit
  void choose();

  const Fork& fork_;
  std::vector<State> jobs_;
  std::vector<std::vector<Dependent>> dependents_;
  std::vector<List> lists_;  // of jobs with a limit that may come or wait: an array's, or a user's of a group
  std::vector<int> busy_;    // by limit
  std::set<std::pair<Time, std::size_t>> begins_;
  std::deque<std::pair<std::size_t, bool>> due_;  // true: it comes, false: it is taken back
  bool choose_ = false, news_ = false;
};

class FutureFleet : public BoundedFleet {
 public:
  // `found`: the fork's, without the jobs that come later; all outlive this.
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
  JobId with_progress_ = kNoJob;  // came last and has run before
  std::vector<Time> starts_;
};

}  // namespace smartmig
