#include "sched/reshape_queue.h"

namespace smartmig {

InstanceChange next_change(const Cluster& cluster, GpuId gpu) {
  const GpuState& state = cluster.gpu(gpu);
  const GpuModel& model = *cluster.platform().model(gpu).gpu;
  const Layout going = state.layout - state.target - state.busy;
  InstanceChange change{gpu, {}, {}};
  if (cluster.cost().reshape) {
    change.destroys = going;
    Layout after = state.layout - going;
    for (PlacementId p : state.target - state.layout)
      if (const auto next = model.with(after, p)) {
        after = *next;
        change.creates = *model.with(change.creates, p);
      }
    return change;
  }
  if (!going.empty()) {
    change.destroys = *model.with(Layout{}, *going.begin());
    return change;
  }
  for (PlacementId p : state.target - state.layout)
    if (model.fits(state.layout, p)) {
      change.creates = *model.with(Layout{}, p);
      break;
    }
  return change;
}

ReshapeQueue::ReshapeQueue(const Cluster& cluster) : gpus_(cluster.gpus().size()) {
  for (std::size_t g = 0; g < cluster.gpus().size(); ++g)
    if (cluster.gpus()[g].layout != cluster.gpus()[g].target) asked(GpuId(g));
}

void ReshapeQueue::asked(GpuId gpu) {
  State& state = gpus_[index(gpu)];
  if (state.queued) return;
  state.queued = true;
  queue_.push_back(gpu);
}

}  // namespace smartmig
