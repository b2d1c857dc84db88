#include "sim/sim_fleet.h"

#include <algorithm>
#include <utility>

#include "model/reconfig.h"

namespace smartmig {
namespace {

Time duration_of(const Cluster& cluster, const InstanceChange& change) {
  if (cluster.cost().reshape) return *cluster.cost().reshape;
  const GpuModel& model = *cluster.platform().model(change.gpu).gpu;
  const bool destroys = !change.destroys.empty();
  const PlacementId p = destroys ? *change.destroys.begin() : *change.creates.begin();
  const ReconfigTime time = reconfig_time(model, model.placement(p).profile);
  return destroys ? time.destroy : time.create;
}

}  // namespace

SimFleet::SimFleet(const Cluster& cluster)
    : arrived_(cluster.counters().arrivals), completions_(cluster.jobs().size()), reshapes_(cluster) {
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job))
    if (cluster.state(job).phase == JobPhase::kRunning) completions_.push(job, cluster.state(job).finish);
}

void SimFleet::tell_no_arrivals(const Cluster& cluster) {
  arrivals_ = false;
  arrived_ = cluster.jobs().size();
}

void SimFleet::expect_anew(const Cluster& cluster, GpuId gpu) {
  const GpuState& state = cluster.gpu(gpu);
  for (const PlacementId p : state.busy) {
    const JobId job = state.job_at[index(p)];
    if (completions_.contains(job)) completions_.move(job, cluster.state(job).finish);
  }
}

void SimFleet::look_after_end(const Cluster& cluster) {
  const JobId ended = std::exchange(ended_, kNoJob);
  if (ended != kNoJob && cluster.jobs().has_crowding()) expect_anew(cluster, cluster.state(ended).gpu);
}

bool SimFleet::next(const Cluster& cluster, Event& event) {
  look_after_end(cluster);
  const auto& jobs = cluster.jobs().workload().jobs;
  if (arrivals_ && arrived_ == jobs.size() && cluster.unfinished() == 0) return false;

  for (Time clock = cluster.now();;) {
    const Time completion = completions_.empty() ? kNever : completions_.top().finish;
    // All completions of this instant free their slices before an operation looks for idle slices.
    if (completion > clock && begin_operations(cluster, clock, event)) return true;
    const Time operation = operations_.empty() ? kNever : operations_.top().end;
    const Time arrival = arrived_ == jobs.size() ? kNever : jobs[arrived_].submit;
    if (std::min({completion, operation, arrival}) > horizon_) return false;
    if (completion <= operation && completion <= arrival) {
      if (completion == kNever) return false;
      event = Event::finished(completion, ended_ = completions_.top().job);
      completions_.pop();
      return true;
    }
    if (operation > arrival) {
      event = Event::submitted(arrival, JobId(arrived_));
      ++arrived_;
      return true;
    }
    const Operation done = operations_.top();
    operations_.pop();
    reshapes_.ended(done.gpu);
    clock = operation;
    if (done.creates.empty()) continue;  // a destroy was reported when it began
    event = Event::created(operation, done.gpu, done.creates);
    return true;
  }
}

bool SimFleet::also_happens(const Cluster& cluster, Event& event) {
  if (cluster.cost().free()) return false;
  look_after_end(cluster);
  if (event.kind == EventKind::kFinished && !completions_.empty() && completions_.top().finish <= cluster.now()) {
    event = Event::finished(cluster.now(), ended_ = completions_.top().job);
    completions_.pop();
    return true;
  }
  const auto& jobs = cluster.jobs().workload().jobs;
  if (event.kind != EventKind::kSubmitted || arrived_ == jobs.size() || jobs[arrived_].submit > cluster.now())
    return false;
  event = Event::submitted(cluster.now(), JobId(arrived_));
  ++arrived_;
  return true;
}

bool SimFleet::begin_operations(const Cluster& cluster, Time clock, Event& event) {
  return reshapes_.begin_operations(
      cluster, [](GpuId) { return true; },
      [&](const InstanceChange& change) {
        operations_.push({clock + duration_of(cluster, change), change.gpu, change.creates});
        if (change.destroys.empty()) return false;
        event = Event::destroyed(clock, change.gpu, change.destroys);
        return true;
      });
}

void SimFleet::begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) {
  switch (action.kind) {
    case EventKind::kStarted:
      completions_.push(action.job, cluster.state(action.job).finish);
      if (cluster.jobs().has_crowding()) expect_anew(cluster, action.gpu);
      return;
    case EventKind::kStopped:
      completions_.remove(action.job);
      if (cluster.jobs().has_crowding()) expect_anew(cluster, cluster.state(action.job).gpu);
      return;
    case EventKind::kReshapeAsked: {
      if (!cluster.cost().free()) return reshapes_.asked(action.gpu);
      const GpuState& gpu = cluster.gpu(action.gpu);
      const Layout destroys = gpu.layout - action.layout, creates = action.layout - gpu.layout;
      if (!destroys.empty()) at_once.push_back(Event::destroyed(cluster.now(), action.gpu, destroys));
      if (!creates.empty()) at_once.push_back(Event::created(cluster.now(), action.gpu, creates));
      return;
    }
    case EventKind::kSubmitted:
    case EventKind::kFinished:
    case EventKind::kDestroyed:
    case EventKind::kCreated:
    case EventKind::kWithdrawn:
    case EventKind::kOverrun:
    case EventKind::kBlocked:
    case EventKind::kUnblocked:
    case EventKind::kFoundRunning:
    case EventKind::kFoundWaiting:
      return;  // no actions
  }
}

}  // namespace smartmig
