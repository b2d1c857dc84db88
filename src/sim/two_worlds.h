// A simulated world together with what is believed of it. The world is a SimFleet over its own cluster with the true
// times. The session's cluster holds the believed times, over a table with the same jobs:
//
//   a job ends         at its true time
//   a job runs on      past its believed end by kOverrunGrace: reported as an overrun, as the daemon does
//
// Every event except overruns reaches both clusters, so both have the same layouts, jobs and instants. The journal is
// the world's: with the true times it gives the true summary.
#pragma once
#include <memory>

#include "sched/session.h"
#include "sim/completion_heap.h"
#include "sim/sim_fleet.h"

namespace smartmig {

class TwoWorlds : public Fleet {
 public:
  // `truth` has the same jobs, phases and layouts as the session's cluster. If some jobs run, call expect_running()
  // next. `world` lets jobs arrive and end; null: a SimFleet.
  TwoWorlds(Cluster truth, Journal* journal, std::unique_ptr<Fleet> world = nullptr);
  void expect_running(const Cluster& cluster);
  const Cluster& truth() const { return truth_; }
  void stop_before(Time instant) override { horizon_ = instant; }

  bool next(const Cluster& cluster, Event& event) override;
  bool also_happens(const Cluster& cluster, Event& event) override;
  void begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) override;

 protected:
  virtual void happened(const Event&) {}  // called in the true world, before the session sees the event
  virtual Event believed(const Event& event) const { return event; }  // the event as the session sees it
  // A further event of this instant in the session's world alone.
  virtual bool rebelieved(const Cluster&, Event&) { return false; }

 private:
  void happens(const Event& event);

  Cluster truth_;
  Journal* journal_;
  std::unique_ptr<Fleet> world_;
  Time horizon_ = kNever;
  CompletionHeap expected_;
  JobId overran_ = kNoJob;  // last reported; its expected end has moved since
};

}  // namespace smartmig
