// The one loop: the world emits an event, the policy answers with a plan, the world carries it out.
//
//   while (session.advance()) { policy.decide(session.cluster(), plan); session.act(plan); plan.clear(); }
//
// Simulator, daemon and replay differ only in the Fleet; the trainer holds many sessions and batches the middle. Every
// event and every admitted action goes to the journal, in order. An illegal action is refused, counted and explained,
// never done.
#pragma once
#include <string>
#include <vector>

#include "sched/fleet.h"
#include "sched/policy.h"

namespace smartmig {

class Journal {
 public:
  virtual ~Journal() = default;
  virtual void append(const Event& event) = 0;
};

class MemoryJournal : public Journal {
 public:
  void append(const Event& event) override { events_.push_back(event); }
  const std::vector<Event>& events() const { return events_; }

 private:
  std::vector<Event> events_;
};

class Session {
 public:
  Session(Fleet& fleet, Cluster cluster, Journal* journal = nullptr)
      : fleet_(fleet), cluster_(std::move(cluster)), journal_(journal) {}

  bool advance();              // applies the world's next event, of arrivals all of one instant; false: the end
  void act(const Plan& plan);  // admits and begins what is legal

  // Applies and writes down an event that the fleet did not tell of, without a decision: jobs that a restarted daemon
  // finds. REQUIRES: legal.
  void apply(const Event& event);
  // A decision without news: time has passed, limits have changed.
  void look_again(Time now);
  // The same belief over another job table (Cluster::renumbered).
  void replace(Cluster cluster) { cluster_ = std::move(cluster); }

  const Cluster& cluster() const { return cluster_; }
  std::uint64_t refused() const { return refused_; }
  const std::string& last_refusal() const { return last_refusal_; }  // in words; empty if none

 private:
  void begin(const Event& action);
  void refuse(Refusal refusal, JobId job, GpuId gpu, PlacementId where);

  Fleet& fleet_;
  Cluster cluster_;
  Journal* journal_;
  std::vector<Event> at_once_;
  std::uint64_t refused_ = 0;
  std::string last_refusal_;
};

void run(Session& session, Policy& policy);

}  // namespace smartmig
