// A simulated world beside what is believed of it. The world is a SimFleet over a cluster of its own with the true times;
// the session's cluster holds the believed ones, over a table with the same jobs:
//
//   a job ends         when it truly does
//   a job runs on      past its believed end by kOverrunGrace: told as an overrun, as the daemon tells it
//
// Every event but overruns reaches both clusters, so both have the same layouts, jobs and instants. The journal is the
// world's: with the true times it gives the true summary.
#pragma once
#include <memory>

#include "sched/session.h"
#include "sim/completion_heap.h"
#include "sim/sim_fleet.h"

namespace smartmig {

class TwoWorlds : public BoundedFleet {
 public:
  // `truth`: of the same jobs, phases and layouts as the session's cluster. Where some run, expect_running() follows.
  // `world`: that lets jobs come and end; null: a SimFleet.
  TwoWorlds(Cluster truth, Journal* journal, std::unique_ptr<BoundedFleet> world = nullptr);
  void expect_running(const Cluster& cluster);
  const Cluster& truth() const { return truth_; }
  void stop_before(Time instant) override { horizon_ = instant; }

  bool next(const Cluster& cluster, Event& event) override;
  bool also_happens(const Cluster& cluster, Event& event) override;
  void begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) override;

 protected:
  virtual void happened(const Event&) {}  // in the true world, before the session hears of it
  virtual Event believed(const Event& event) const { return event; }  // as the session hears it

 private:
  void happens(const Event& event);

  Cluster truth_;
  Journal* journal_;
  std::unique_ptr<BoundedFleet> world_;
  Time horizon_ = kNever;
  CompletionHeap expected_;
  JobId overran_ = kNoJob;  // told last: its expected end has moved since
};

}  // namespace smartmig
