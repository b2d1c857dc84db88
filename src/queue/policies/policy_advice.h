// Decisions of other policies on the live fleet. The shadow policy (settings: shadow) decides in parallel with the real
// one, but its decisions are not carried out: only its different starts are counted. Every interval the futures of the
// own policy, of the shadow and, where the own one is guarded, of the plain ones are compared on a fork (Advisor): the
// first comparison is reported, the second tells the guard whether to fall back. What is worth a line of the journal is
// returned as a note. Thread rule: the owner's.
#pragma once
#include <nlohmann/json.hpp>

#include "base/moved.h"
#include "live/live_clock.h"
#include "queue/policies/advisor.h"
#include "queue/policies/policies.h"

namespace smartmig {

class PolicyAdvice {
 public:
  struct Note {
    std::string kind, fields;  // as LiveJournal::note takes them
  };
  PolicyAdvice(const Settings& settings, Policies& policies, LiveClock& clock, Time interval);

  void set_shadow(std::unique_ptr<Policy> shadow) { shadow_ = std::move(shadow); }  // null: none
  // Beside a decision: the plan of the shadow where its starts differ from these, else null.
  const Plan* shadow_differs(const Cluster& cluster, const Plan& plan);
  std::uint64_t differences() const { return differences_; }

  // Takes an answer that has arrived, and asks again when it is time. `origin` is the Unix time of the fork's 0.
  std::vector<Note> consult(UnixTime now, bool jobs_wait, const std::function<Fork()>& fork, UnixTime origin);
  void clock_stepped(Time by) { next_ = moved(next_, by); }
  nlohmann::json shadow_json(std::uint64_t decisions) const;  // what the shadow would have done, and what it would cost

 private:
  std::vector<Note> judge(const Advisor::Answer& answer, UnixTime origin);

  const Settings& settings_;
  Policies& policies_;
  const Time interval_;
  std::unique_ptr<Policy> shadow_;
  Plan shadow_plan_;
  std::uint64_t differences_ = 0;
  nlohmann::json report_;
  Advisor advisor_;
  UnixTime next_{};
};

}  // namespace smartmig
