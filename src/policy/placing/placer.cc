#include "policy/placing/placer.h"

namespace smartmig {

void PairPolicy::decide(const Cluster& cluster, Plan& plan) {
  const bool anew =
      identity_ != cluster.identity() || cluster.decision() != expected_decision_ || cluster.last_plan_refused();
  identity_ = cluster.identity();
  expected_decision_ = cluster.decision() + 1;
  bool changed = anew;
  if (anew) {
    usable_.layout.resize(cluster.gpus().size());
    for (std::size_t g = 0; g < usable_.layout.size(); ++g) usable_.layout[g] = cluster.gpus()[g].usable();
  }
  for (const Event& event : cluster.news())
    if (event.gpu != kNoGpu) {
      usable_.layout[index(event.gpu)] = cluster.gpu(event.gpu).usable();
      changed = true;
    }

  wanted_.clear();
  repartitioner_->retarget(cluster, wanted_);
  for (const auto& [gpu, shape] : wanted_) {
    const GpuState& state = cluster.gpu(gpu);
    if (state.blocked) continue;
    const Platform::Model& model = cluster.platform().model(gpu);
    if (shape_of(*model.gpu, state.target) == shape) continue;
    // Under paper costs running jobs make way, so no placement counts as busy.
    const auto layout = model.shapes->realise(shape, state.layout, cluster.cost().free() ? Layout{} : state.busy);
    SMARTMIG_CHECK(layout.has_value(), "a repartitioner asked GPU {} for a shape that {} cannot have", index(gpu),
                   model.gpu->name());
    plan.reshapes.push_back({gpu, *layout});
    usable_.layout[index(gpu)] = cluster.cost().free() ? *layout : state.layout & *layout;
    changed = true;
  }
  usable_.version += changed;
  placer_->place(cluster, usable_, plan);
}

}  // namespace smartmig
