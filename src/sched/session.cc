#include "sched/session.h"

#include <algorithm>

namespace smartmig {

void Session::apply(const Event& event) {
  if (journal_) journal_->append(event);
  cluster_.apply(event);
}

void Session::look_again(Time now) {
  if (now > cluster_.now()) cluster_.pass(now);
  cluster_.begin_decision();
}

bool Session::advance() {
  Event event;
  if (!fleet_.next(cluster_, event)) return false;
  cluster_.begin_decision();
  apply(event);
  while (fleet_.also_happens(cluster_, event)) apply(event);
  return true;
}

void Session::begin(const Event& action) {
  apply(action);
  fleet_.begin(cluster_, action, at_once_);
  if (at_once_.empty()) return;
  for (const Event& event : at_once_) apply(event);
  at_once_.clear();
}

void Session::refuse(Refusal refusal, JobId job, GpuId gpu, PlacementId where) {
  ++refused_;
  last_refusal_ = explain(cluster_, refusal, job, gpu, where);
}

void Session::act(const Plan& plan) {
  const std::uint64_t refused_before = refused_;
  const Time now = cluster_.now();
  for (JobId job : plan.stops) {
    if (const Refusal r = cluster_.refusal_of_stop(job); r != Refusal::kNone)
      refuse(r, job, kNoGpu, kNoPlacement);
    else
      begin(Event::stopped(now, job));
  }
  for (const Reshape& reshape : plan.reshapes) {
    if (const Refusal r = cluster_.refusal_of_reshape(reshape); r != Refusal::kNone)
      refuse(r, kNoJob, reshape.gpu, kNoPlacement);
    else
      begin(Event::reshape_asked(now, reshape.gpu, reshape.to));
  }
  for (const Start& start : plan.starts) {
    if (const Refusal r = cluster_.refusal_of_start(start); r != Refusal::kNone)
      refuse(r, start.job, start.gpu, start.where);
    else
      begin(Event::started(now, start.job, start.gpu, start.where));
  }
  cluster_.end_decision(refused_ != refused_before);
}

void DecisionLoop::decide() {
  plan_.clear();
  decide_(session_.cluster(), plan_);
  session_.act(plan_);
  if (acted_) acted_();
}

bool DecisionLoop::advance(Time until) {
  const Cluster& cluster = session_.cluster();
  const bool waits = plan_.look_again > cluster.now() && looks_ < kMostLooks && cluster.unfinished() > 0;
  const Time look = waits ? plan_.look_again : kNever;
  session_.stop_before(std::min(look, until));
  if (session_.advance()) {
    looks_ = 0;
    return true;
  }
  if (look == kNever || look > until) return false;
  session_.look_again(look);
  ++looks_;
  return true;
}

bool DecisionLoop::step(Time until) {
  if (!advance(until)) return false;
  decide();
  return true;
}

void DecisionLoop::decide_about_news(const std::function<bool()>& gather, bool (*worth)(const Cluster&)) {
  while (session_.advance()) {
    bool due = worth(session_.cluster());
    while (gather() && session_.advance()) due = worth(session_.cluster()) || due;
    if (due) decide();
  }
}

void run(Session& session, Policy& policy, const std::function<bool()>& go_on) {
  DecisionLoop loop(session, [&](const Cluster& cluster, Plan& plan) { policy.decide(cluster, plan); });
  while (loop.step())
    if (go_on && !go_on()) return;
}

}  // namespace smartmig
