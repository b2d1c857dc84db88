// A simulated world whose policy does not know how long jobs take. The world is a SimFleet over a cluster of its own with
// the true times; the session's cluster holds what is believed, in a table that fills as jobs come:
//
//   a job comes        its row gets the time that is told, or what the estimator makes of it (sim/estimates.h)
//   a job ends         when it truly does; the estimator learns from it
//   a job runs on      past its believed end by kOverrunGrace: told as an overrun, as the daemon tells it
//
// Every event but overruns reaches both clusters, so both have the same layouts, jobs and instants. The journal is the
// world's: with the true times it gives the true summary.
#pragma once
#include <memory>
#include <vector>

#include "model/time_estimator.h"
#include "sched/session.h"
#include "sim/completion_heap.h"
#include "sim/estimates.h"
#include "sim/sim_fleet.h"

namespace smartmig {

class BelievedFleet : public Fleet {
 public:
  // `truth`: at its beginning.
  BelievedFleet(const EstimateRule& rule, Cluster truth, Journal* journal);
  // What the session begins with.
  Cluster belief(std::shared_ptr<const Platform> platform) const;
  const Cluster& truth() const { return truth_; }

  void stop_before(Time instant) { horizon_ = instant; }  // as SimFleet's
  bool next(const Cluster& cluster, Event& event) override;
  bool also_happens(const Cluster& cluster, Event& event) override;
  void begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) override;

 private:
  void happens(const Event& event);
  void put(JobId job);
  std::vector<std::string> groups_of(const Job& job) const;
  std::optional<double> told(JobId job) const;

  EstimateRule rule_;
  Cluster truth_;
  Journal* journal_;
  SimFleet world_;
  std::vector<double> factors_;  // told over true; empty: nothing is told
  std::shared_ptr<JobTable> table_;
  TimeEstimator estimator_;
  CompletionHeap expected_;
  Time horizon_ = kNever;
  JobId overran_ = kNoJob;  // told last: its expected end has moved since
};

}  // namespace smartmig
