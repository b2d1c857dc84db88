#include "sched/session.h"

namespace smartmig {

void Session::apply(const Event& event) {
  if (journal_) journal_->append(event);
  cluster_.apply(event);
}

bool Session::advance() {
  Event event;
  if (!fleet_.next(cluster_, event)) return false;
  cluster_.begin_decision();
  apply(event);
  return true;
}

void Session::found_running(JobId job, GpuId gpu, PlacementId where, Time left, Time first_start) {
  apply({cluster_.now(), EventKind::kSubmitted, kNoPlacement, job, kNoGpu, {}});
  if (journal_) journal_->append({cluster_.now(), EventKind::kStarted, where, job, gpu, {}});
  cluster_.resume_running(job, gpu, where, left, first_start);
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
      begin({now, EventKind::kStopped, kNoPlacement, job, kNoGpu, {}});
  }
  for (const Reshape& reshape : plan.reshapes) {
    if (const Refusal r = cluster_.refusal_of_reshape(reshape); r != Refusal::kNone)
      refuse(r, kNoJob, reshape.gpu, kNoPlacement);
    else
      begin({now, EventKind::kReshapeAsked, kNoPlacement, kNoJob, reshape.gpu, reshape.to});
  }
  for (const Start& start : plan.starts) {
    if (const Refusal r = cluster_.refusal_of_start(start); r != Refusal::kNone)
      refuse(r, start.job, start.gpu, start.where);
    else
      begin({now, EventKind::kStarted, start.where, start.job, start.gpu, {}});
  }
  cluster_.end_decision(refused_ != refused_before);
}

void run(Session& session, Policy& policy) {
  for (Plan plan; session.advance(); plan.clear()) {
    policy.decide(session.cluster(), plan);
    session.act(plan);
  }
}

}  // namespace smartmig
