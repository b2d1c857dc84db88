#include "sim/sim_fleet.h"

#include <algorithm>

#include "model/reconfig.h"

namespace smartmig {

SimFleet::SimFleet(const Cluster& cluster)
    : arrived_(cluster.counters().arrivals), completions_(cluster.jobs().size()) {
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job))
    if (cluster.state(job).phase == JobPhase::kRunning) completions_.push(job, cluster.state(job).finish);
  if (cluster.cost().free()) return;
  in_operation_.resize(cluster.gpus().size());
  for (std::size_t g = 0; g < cluster.gpus().size(); ++g)
    if (cluster.gpus()[g].layout != cluster.gpus()[g].target) reshaping_.push_back(GpuId(g));
}

bool SimFleet::next(const Cluster& cluster, Event& event) {
  const auto& jobs = cluster.jobs().workload().jobs;
  if (arrived_ == jobs.size() && cluster.unfinished() == 0) return false;

  for (Time clock = cluster.now();;) {
    const Time completion = completions_.empty() ? kNever : completions_.top().finish;
    // What else ends at this instant is idle before an operation looks for idle slices.
    if (completion > clock && begin_operations(cluster, clock, event)) return true;
    const Time operation = operations_.empty() ? kNever : operations_.top().end;
    const Time arrival = arrived_ == jobs.size() ? kNever : jobs[arrived_].submit;
    if (completion <= operation && completion <= arrival) {
      if (completion == kNever) return false;
      event = Event::finished(completion, completions_.top().job);
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
    in_operation_[index(done.gpu)] = 0;
    clock = operation;
    if (done.creates.empty()) continue;  // a destroy was told of when it began
    event = Event::created(operation, done.gpu, done.creates);
    return true;
  }
}

bool SimFleet::begin_operations(const Cluster& cluster, Time clock, Event& event) {
  for (std::size_t i = 0; i < reshaping_.size();) {
    const GpuId gpu = reshaping_[i];
    const bool in_operation = in_operation_[index(gpu)];
    if (!in_operation && cluster.gpu(gpu).layout == cluster.gpu(gpu).target) {
      reshaping_.erase(reshaping_.begin() + std::ptrdiff_t(i));
      continue;
    }
    ++i;
    if (!in_operation && begin_operation(cluster, gpu, clock, event)) return true;
  }
  return false;
}

bool SimFleet::begin_operation(const Cluster& cluster, GpuId gpu, Time clock, Event& event) {
  const GpuState& state = cluster.gpu(gpu);
  const GpuModel& model = *cluster.platform().model(gpu).gpu;
  const Layout going = state.layout - state.target - state.busy;
  const bool whole = cluster.cost().reshape.has_value();
  Time duration = whole ? *cluster.cost().reshape : Time{0};
  Layout destroys, creates;
  if (whole) {
    destroys = going;
    Layout after = state.layout - going;
    for (PlacementId p : state.target - state.layout)
      if (const auto next = model.with(after, p)) {
        after = *next;
        creates = *model.with(creates, p);
      }
  } else if (!going.empty()) {
    const PlacementId p = *going.begin();
    destroys = *model.with(Layout{}, p);
    duration = reconfig_time(model, model.placement(p).profile).destroy;
  } else {
    for (PlacementId p : state.target - state.layout)
      if (model.fits(state.layout, p)) {
        creates = *model.with(Layout{}, p);
        duration = reconfig_time(model, model.placement(p).profile).create;
        break;
      }
  }
  if (destroys.empty() && creates.empty()) return false;  // a busy slice is in the way
  in_operation_[index(gpu)] = 1;
  operations_.push({clock + duration, gpu, creates});
  if (destroys.empty()) return false;
  event = Event::destroyed(clock, gpu, destroys);
  return true;
}

void SimFleet::begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) {
  switch (action.kind) {
    case EventKind::kStarted:
      completions_.push(action.job, cluster.state(action.job).finish);
      return;
    case EventKind::kStopped:
      completions_.remove(action.job);
      return;
    case EventKind::kReshapeAsked: {
      if (!cluster.cost().free()) {
        if (std::find(reshaping_.begin(), reshaping_.end(), action.gpu) == reshaping_.end())
          reshaping_.push_back(action.gpu);
        return;
      }
      const GpuState& gpu = cluster.gpu(action.gpu);
      const Layout destroys = gpu.layout - action.layout, creates = action.layout - gpu.layout;
      if (!destroys.empty()) at_once.push_back(Event::destroyed(cluster.now(), action.gpu, destroys));
      if (!creates.empty()) at_once.push_back(Event::created(cluster.now(), action.gpu, creates));
      return;
    }
    default:
      return;
  }
}

}  // namespace smartmig
