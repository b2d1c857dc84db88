// The planner under hardware costs: running jobs stay where they are, queued ones are planned onto free slices and onto
// those that a reshape around the busy ones could make.
#include <algorithm>
#include <map>

#include "base/check.h"
#include "model/reconfig.h"
#include "policy/planner.h"

namespace smartmig {
// Every set of slots that queued jobs could have on this GPU beside its busy slices, each with the layout that makes it
// in the least time. While a reshape is under way only what exists and stays is on offer.
const std::vector<Planner::HardwareChoice>& Planner::choices_of(const Cluster& cluster, GpuId id) {
  const Platform::Model& model = cluster.platform().model(id);
  const GpuModel& gpu = *model.gpu;
  const GpuState& state = cluster.gpu(id);
  const bool changing = state.layout != state.target;
  const GpuKey key{state.layout.bits(), state.target.bits(), state.busy.bits(),
                   2 * std::uint32_t(cluster.platform().model_index(id)) + state.blocked};
  const auto [at, fresh] = hardware_.try_emplace(key);
  if (!fresh) return at->second;

  const int busy_slices = gpu.compute_used(state.busy);
  std::map<std::array<std::uint8_t, SlotMarket::kMaxTypes>, std::pair<double, Layout>> best;
  const auto offer = [&](Layout target, Layout free) {
    const double took = minutes(reshape_time(cluster.cost(), gpu, state.layout, target));
    // All sub-sets of the free slices: a slot may stay unused.
    const std::uint32_t all = free.bits();
    for (std::uint32_t part = all;; part = (part - 1) & all) {
      std::array<std::uint8_t, SlotMarket::kMaxTypes> slots{};
      bool known = true;
      for (const PlacementId p : gpu.subset(free, part)) {
        const int t = market_type_[std::size_t(index(model.type_of_placement[index(p)]))];
        known &= t >= 0;
        if (t >= 0) ++slots[std::size_t(t)];
      }
      if (known) {
        const auto [it, first] = best.try_emplace(slots, took, target);
        if (!first && took < it->second.first) it->second = {took, target};
      }
      if (part == 0) break;
    }
  };
  if (changing || state.blocked) {
    offer(state.target, state.free());
  } else {
    offer(state.layout, state.free());
    const ProfileMask profiles = doubles_ ? gpu.schedulable_profiles() : gpu.plain_profiles();
    for (const Layout layout : gpu.layouts(profiles)) {
      if (layout == state.layout || !layout.contains(state.busy) || !gpu.maximal(layout, profiles)) continue;
      offer(layout, layout - state.busy);
    }
  }
  for (const auto& [slots, how] : best) {
    HardwareChoice choice{slots, how.second};
    int added = 0;
    for (std::size_t t = 0; t < type_of_market_.size(); ++t)
      added += slots[t] * cluster.platform().type(type_of_market_[t]).compute_slices;
    if (model.power.is_table())
      choice.watts = model.power.watts(busy_slices + added, 0) - model.power.watts(busy_slices, 0);
    choice.reshape_cost = options_.weights.reshape * how.first * gpu.compute_used(how.second - state.layout);
    at->second.push_back(choice);
  }
  return at->second;
}

void Planner::plan_around(const Cluster& cluster, bool at_any_cost) {
  const double w = at_any_cost ? 0 : options_.w;
  gather(cluster, true, w);
  const std::size_t gpus = cluster.gpus().size();
  offers_.resize(gpus);
  gpu_groups_.resize(gpus);
  for (std::size_t g = 0; g < gpus; ++g) {
    offers_[g] = &choices_of(cluster, GpuId(g));
    SizeGroup& group = gpu_groups_[g];
    group.configurations.clear();
    for (const HardwareChoice& choice : *offers_[g])
      group.configurations.push_back({choice.slots, w * choice.watts + (at_any_cost ? 0 : choice.reshape_cost)});
    group.gpus.assign(offers_[g]->size(), 0);
    group.gpus[0] = 1;  // the empty set comes first
  }
  sizes_.optimise(market_, gpu_groups_);
}

void Planner::decide_hardware(const Cluster& cluster, Plan& plan) {
  if (identity_ != cluster.identity()) see_new_cluster(cluster);
  plan_around(cluster, false);
  if (jobs_.empty()) return;
  const auto changing = [](const GpuState& gpu) { return gpu.layout != gpu.target; };
  if (served() == 0 && cluster.running() == 0 && std::none_of(cluster.gpus().begin(), cluster.gpus().end(), changing))
    plan_around(cluster, true);
  hand_out();
  const std::size_t types = type_of_market_.size(), gpus = cluster.gpus().size();
  for (std::size_t g = 0; g < gpus; ++g) {
    const GpuState& state = cluster.gpus()[g];
    const auto& counts = gpu_groups_[g].gpus;
    const std::size_t chosen = std::size_t(std::find(counts.begin(), counts.end(), 1) - counts.begin());
    const HardwareChoice& choice = (*offers_[g])[chosen];
    const bool reshape = choice.target != state.target;
    if (reshape) plan.reshapes.push_back({GpuId(g), choice.target});
    // Slices that exist and stay serve at once; those to be made are planned for again when they are there.
    const Layout ready = (reshape ? state.layout & choice.target : state.usable()) - state.busy;
    auto slots = choice.slots;
    const auto& type_of = cluster.platform().model(GpuId(g)).type_of_placement;
    for (const PlacementId p : ready) {
      const int t = market_type_[std::size_t(index(type_of[index(p)]))];
      if (t < 0 || slots[std::size_t(t)] == 0) continue;
      // The first in order of arrival among those that were given this size.
      std::size_t j = 0;
      while (j < jobs_.size() && (given_type_[j] >= 0 || left_[item_[j] * types + std::size_t(t)] == 0)) ++j;
      if (j == jobs_.size()) continue;
      --slots[std::size_t(t)];
      --left_[item_[j] * types + std::size_t(t)];
      given_type_[j] = std::int8_t(t);
      plan.starts.push_back({jobs_[j], GpuId(g), p});
    }
  }
}

}  // namespace smartmig
