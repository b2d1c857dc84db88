// The middle of a step: while the fleet has something to tell, the belief takes it and the policy decides; its plan is
// acted upon in the belief, and what follows for processes and GPUs is prepared. It also asks what other policies would
// do (PolicyAdvice).
//
// A decision is due after events that give a reason for one, when somebody asked (decide_anyway), and every `tick`.
// While the queue is paused the policy is not asked. Thread rule: the owner's.
#pragma once
#include "base/moved.h"
#include "queue/policies/policy_advice.h"
#include "serve/attempts/attempts.h"
#include "serve/daemon/daemon_state.h"

namespace smartmig {

class Decisions {
 public:
  Decisions(const Settings& settings, const DaemonPace& pace, LiveClock& clock, LiveSession& session, LiveJobs& book,
            AttemptTable& table, HostShares& shares, Attempts& attempts, Figures& figures,
            const GpuReservations& reservations);

  // By the settings as they are now; all or nothing. Shapes that do not depend on the queue are then made at once.
  Result<Ok> make_policies();
  const Policies& policies() const { return policies_; }
  void remember(const std::string& overtaking) { policies_.remember(stored_counts_ = overtaking); }  // of before
  nlohmann::json shadow_json() const { return advice_.shadow_json(figures_.counts.decisions); }

  void decide_all();  // all that is due
  void consult();     // compares policies when it is time
  void decide_anyway() { anyway_ = true; }
  void rows_renumbered() { policies_.rows_renumbered(); }
  void pause(bool on);
  bool paused() const { return paused_; }
  UnixTime next_tick() const { return next_tick_; }
  void clock_stepped(Time by) {
    next_tick_ = moved(next_tick_, by);
    advice_.clock_stepped(by);
    anyway_ = true;
  }

 private:
  void decide(const Cluster& cluster, Plan& plan);
  void note_shadow(const Cluster& cluster, const Plan& plan);
  void tick_again();
  void store_counts();

  const Settings& settings_;
  const DaemonPace pace_;
  LiveSession& session_;
  LiveJobs& book_;
  Attempts& attempts_;
  Figures& figures_;
  Policies policies_;
  PolicyAdvice advice_;
  DecisionLoop loop_;
  std::string stored_counts_;  // of overtaking
  bool anyway_ = false, paused_ = false;
  bool shapes_due_ = false;  // a fleet without jobs, too, is to get the shapes of a new policy
  UnixTime next_tick_{};
};

}  // namespace smartmig
