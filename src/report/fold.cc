#include "report/fold.h"

#include <fmt/format.h>

namespace smartmig {

bool begins_decision(const CostModel& cost, EventKind kind) {
  switch (kind) {
    case EventKind::kSubmitted:
    case EventKind::kFinished:
    case EventKind::kWithdrawn:
    case EventKind::kOverrun:
    case EventKind::kBlocked:
    case EventKind::kUnblocked:
      return true;
    case EventKind::kDestroyed:
    case EventKind::kCreated:
      return !cost.free();
    case EventKind::kStarted:
    case EventKind::kStopped:
    case EventKind::kReshapeAsked:
    case EventKind::kFoundRunning:
    case EventKind::kFoundWaiting:
      return false;
  }
  return false;
}

void fold(Cluster& cluster, const Event& event) {
  if (begins_decision(cluster.cost(), event.kind)) {
    cluster.end_decision(false);
    cluster.begin_decision();
  }
  cluster.apply(event);
}

namespace {

std::string objection_to_instances(const Cluster& cluster, const Event& event) {
  if (index(event.gpu) >= cluster.gpus().size()) return fmt::format("GPU {} does not exist", index(event.gpu));
  const GpuState& gpu = cluster.gpu(event.gpu);
  const GpuModel& model = *cluster.platform().model(event.gpu).gpu;
  if (event.layout.empty()) return fmt::format("GPU {}: no slice is named", index(event.gpu));
  if (event.kind == EventKind::kDestroyed) {
    if (!gpu.layout.contains(event.layout))
      return fmt::format("GPU {} does not have {}", index(event.gpu), to_string(model, event.layout - gpu.layout));
    if (const Layout busy = gpu.busy & event.layout; !busy.empty())
      return fmt::format("GPU {}: {} is busy", index(event.gpu), to_string(model, busy));
    return {};
  }
  Layout after = gpu.layout;
  for (PlacementId p : event.layout) {
    const auto next = model.with(after, p);
    if (!next)
      return fmt::format("GPU {}: {}@{} does not fit with {}", index(event.gpu), model.profile_of(p).name,
                         model.placement(p).start, to_string(model, after));
    after = *next;
  }
  return {};
}

std::string objection_to_found(const Cluster& cluster, const Event& event) {
  const auto refused = [&](Refusal refusal) { return explain(cluster, refusal, event.job, event.gpu, event.where); };
  if (index(event.job) >= cluster.jobs().size()) return refused(Refusal::kNoSuchJob);
  if (index(event.gpu) >= cluster.gpus().size()) return refused(Refusal::kNoSuchGpu);
  if (cluster.state(event.job).phase != JobPhase::kQueued) return refused(Refusal::kNotQueued);
  if (cluster.state(event.job).type != kNoType)
    return fmt::format("job {} has run before", cluster.jobs().workload().name_of(index(event.job)));
  if (event.kind == EventKind::kFoundWaiting && event.left < Time{0})
    return fmt::format("{} us are left", event.left.count());
  const Platform::Model& model = cluster.platform().model(event.gpu);
  if (index(event.where) >= model.type_of_placement.size()) return refused(Refusal::kNoSuchSlice);
  if (cluster.jobs().work(event.job, model.type_of_placement[index(event.where)]) < Time{0})
    return refused(Refusal::kDoesNotFit);
  if (event.kind == EventKind::kFoundWaiting) return {};
  const GpuState& gpu = cluster.gpu(event.gpu);  // includes blocked GPUs and slices about to go
  if (!gpu.layout.contains(event.where)) return refused(Refusal::kNoSuchSlice);
  if (gpu.busy.contains(event.where)) return refused(Refusal::kSliceBusy);
  return {};
}

}  // namespace

std::string objection_to(const Cluster& cluster, const Event& event) {
  if (event.at < cluster.now())
    return fmt::format("{} us lies before the event in front of it ({} us)", event.at.count(), cluster.now().count());
  const auto refused = [&](Refusal refusal, JobId job, PlacementId where) {
    return refusal == Refusal::kNone ? std::string() : explain(cluster, refusal, job, event.gpu, where);
  };
  const bool known = index(event.job) < cluster.jobs().size();
  switch (event.kind) {
    case EventKind::kSubmitted:
      if (!known) return refused(Refusal::kNoSuchJob, event.job, kNoPlacement);
      return cluster.state(event.job).phase == JobPhase::kAbsent
                 ? std::string()
                 : fmt::format("job {} was submitted before", index(event.job));
    case EventKind::kFinished:
      if (!known) return refused(Refusal::kNoSuchJob, event.job, kNoPlacement);
      return cluster.state(event.job).phase == JobPhase::kRunning
                 ? std::string()
                 : refused(Refusal::kNotRunning, event.job, kNoPlacement);
    case EventKind::kStarted:
      return refused(cluster.refusal_of_start({event.job, event.gpu, event.where}), event.job, event.where);
    case EventKind::kStopped:
      return refused(cluster.refusal_of_stop(event.job), event.job, kNoPlacement);
    case EventKind::kReshapeAsked: {
      const Refusal r = cluster.refusal_of_reshape({event.gpu, event.layout});
      if (r == Refusal::kSliceBusy)
        return fmt::format("GPU {} has busy slices that the new layout does not keep", index(event.gpu));
      return refused(r, kNoJob, kNoPlacement);
    }
    case EventKind::kWithdrawn:
      if (!known) return refused(Refusal::kNoSuchJob, event.job, kNoPlacement);
      if (const JobPhase phase = cluster.state(event.job).phase;
          phase != JobPhase::kQueued && phase != JobPhase::kRunning)
        return refused(Refusal::kNotQueued, event.job, kNoPlacement);
      return {};
    case EventKind::kOverrun:
      if (!known) return refused(Refusal::kNoSuchJob, event.job, kNoPlacement);
      return cluster.state(event.job).phase == JobPhase::kRunning
                 ? std::string()
                 : refused(Refusal::kNotRunning, event.job, kNoPlacement);
    case EventKind::kBlocked:
    case EventKind::kUnblocked:
      if (index(event.gpu) >= cluster.gpus().size()) return fmt::format("GPU {} does not exist", index(event.gpu));
      return {};
    case EventKind::kDestroyed:
    case EventKind::kCreated:
      return objection_to_instances(cluster, event);
    case EventKind::kFoundRunning:
    case EventKind::kFoundWaiting:
      return objection_to_found(cluster, event);
  }
  return "its kind is unknown";
}

}  // namespace smartmig
