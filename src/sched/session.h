// The one loop: the world emits an event, the policy answers with a plan, the world carries it out.
//
//   DecisionLoop loop(session, [&](const Cluster& cluster, Plan& plan) { policy.decide(cluster, plan); });
//   while (loop.step()) {}
//
// Simulator, futures, shadows, trainer, daemon and the controller of a cluster drive it; they differ in the Fleet, in
// what stands around the policy, and in when they stop. Every event and every admitted action goes to the journal, in
// order. An illegal action is refused, counted and explained, never carried out.
#pragma once
#include <functional>
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

  bool advance();              // applies the world's next event, or all arrivals of one instant; false: the end
  void act(const Plan& plan);  // admits and begins the legal actions
  // For a world that jumps in time: nothing after `instant` happens.
  void stop_before(Time instant) { fleet_.stop_before(instant); }

  // Applies and journals an event that the fleet did not report, without a decision: a restarted daemon adds the jobs
  // that it finds. REQUIRES: legal.
  void apply(const Event& event);
  // Prepares a decision without an event: time has passed, or limits have changed.
  void look_again(Time now);
  // Swaps in the same belief over another job table (Cluster::renumbered).
  void replace(Cluster cluster) { cluster_ = std::move(cluster); }

  const Cluster& cluster() const { return cluster_; }
  std::uint64_t refused() const { return refused_; }
  const std::string& last_refusal() const { return last_refusal_; }  // as a sentence; empty if none

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

class DecisionLoop {
 public:
  using Decide = std::function<void(const Cluster&, Plan&)>;
  // `acted` is called after the plan was carried out.
  DecisionLoop(Session& session, Decide decide, std::function<void()> acted = {})
      : session_(session), decide_(std::move(decide)), acted_(std::move(acted)) {}

  void decide();                              // about the present: makes a plan and carries it out
  const Plan& plan() const { return plan_; }  // of the last decision

  // A world that jumps in time. Goes to the next event, or to the instant at which the last plan asked for another
  // decision. Nothing after `until` happens; false: nothing more happens until then.
  bool advance(Time until = kNever);
  bool step(Time until = kNever);                            // advances and decides
  void ask_at(Time instant) { plan_.look_again = instant; }  // as if the last plan had asked for a decision then

  // A living world. Decides about all that was told, several events at once where `gather` says that the next one
  // belongs to the same decision, and not about events that `worth` finds no reason in.
  void decide_about_news(const std::function<bool()>& gather, bool (*worth)(const Cluster&));

 private:
  static constexpr int kMostLooks = 100'000;  // decisions without an event: stops a policy that always asks to look
                                              // again and does nothing
  Session& session_;
  Decide decide_;
  std::function<void()> acted_;
  Plan plan_;
  int looks_ = 0;  // since the last event
};

// Runs a world that jumps in time until nothing more happens. Asks `go_on`, if given, after each decision.
void run(Session& session, Policy& policy, const std::function<bool()>& go_on = {});

}  // namespace smartmig
