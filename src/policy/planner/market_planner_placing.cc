// From sizes to slices: who of a class is served, and on which placement of which GPU, with few moves.
#include <algorithm>

#include "base/check.h"
#include "policy/planner/market_planner.h"

namespace smartmig {

void MarketPlanner::hand_out() {
  const std::size_t types = type_of_market_.size();
  given_type_.assign(jobs_.size(), -1);
  left_.resize(market_.items() * types);
  for (std::size_t i = 0; i < market_.items(); ++i)
    for (std::size_t t = 0; t < types; ++t) left_[i * types + t] = market_.assigned(i, int(t));
}

void MarketPlanner::place_jobs(const Cluster& cluster, Plan& plan) {
  const Platform& platform = cluster.platform();
  const std::size_t types = type_of_market_.size(), gpus = platform.gpus();
  layout_.resize(gpus);
  taken_.assign(gpus, 0);
  budget_.assign(gpus * types, 0);
  for (std::size_t g = 0; g < gpus; ++g) {
    const std::size_t m = std::size_t(platform.model_index(GpuId(g)));
    const Platform::Model& model = platform.model(GpuId(g));
    const GpuState& state = cluster.gpus()[g];
    const Choice& choice = choices_[m][std::size_t(choice_of_gpu_[g])];
    const SlotConfiguration& configuration = groups_[m].configurations[std::size_t(choice_of_gpu_[g])];
    for (std::size_t t = 0; t < types; ++t) budget_[g * types + t] = configuration.slots[t];
    // The present layout stays if it has the slots.
    std::array<int, SlotMarket::kMaxTypes> missing{};
    for (std::size_t t = 0; t < types; ++t) missing[t] = configuration.slots[t];
    for (const PlacementId p : state.target) {
      const int t = market_type_[std::size_t(index(model.type_of_placement[index(p)]))];
      if (t >= 0) --missing[std::size_t(t)];
    }
    layout_[g] = state.target;
    if (std::any_of(missing.begin(), missing.begin() + std::ptrdiff_t(types), [](int n) { return n > 0; })) {
      const auto layout = model.shapes->realise(choice.host, state.target, state.busy);
      SMARTMIG_CHECK(layout.has_value(), "GPU {} cannot have the shape {}", g, to_string(*model.gpu, choice.host));
      layout_[g] = *layout;
      plan.reshapes.push_back({GpuId(g), *layout});
    }
  }

  // Whoever runs on a slice of a type that the plan gives it stays there.
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const JobState& state = cluster.state(jobs_[j]);
    if (state.phase != JobPhase::kRunning) continue;
    const int t = market_type_[std::size_t(index(state.type))];
    const std::size_t g = index(state.gpu);
    if (t >= 0 && left_[item_[j] * types + std::size_t(t)] > 0 && budget_[g * types + std::size_t(t)] > 0 &&
        layout_[g].contains(state.where)) {
      --left_[item_[j] * types + std::size_t(t)];
      --budget_[g * types + std::size_t(t)];
      taken_[g] |= 1u << index(state.where);
      given_type_[j] = std::int8_t(t);
    } else {
      plan.stops.push_back(jobs_[j]);
    }
  }
  // The others take what is left of their class: GPUs in order, the largest slices first.
  std::array<std::size_t, SlotMarket::kMaxTypes> gpu_of{};
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    if (given_type_[j] >= 0) continue;
    for (std::size_t t = types; t-- > 0 && given_type_[j] < 0;) {
      std::int64_t& left = left_[item_[j] * types + t];
      if (left == 0) continue;
      std::size_t& g = gpu_of[t];
      while (g < gpus && budget_[g * types + t] == 0) ++g;
      SMARTMIG_CHECK(g < gpus, "the plan has more jobs than slots of type {}", t);
      const auto& type_of = platform.model(GpuId(g)).type_of_placement;
      for (const PlacementId p : layout_[g]) {
        if (taken_[g] >> index(p) & 1 || type_of[index(p)] != type_of_market_[t]) continue;
        taken_[g] |= 1u << index(p);
        --budget_[g * types + t];
        --left;
        given_type_[j] = std::int8_t(t);
        plan.starts.push_back({jobs_[j], GpuId(g), p});
        break;
      }
      SMARTMIG_CHECK(given_type_[j] >= 0, "GPU {} lacks a slice that the plan counts on", g);
    }
  }
}

}  // namespace smartmig
