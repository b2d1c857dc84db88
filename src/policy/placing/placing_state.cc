#include "policy/placing/placing_state.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace smartmig {

std::vector<PlacementId> placements_small_to_large(const GpuModel& gpu) {
  std::vector<PlacementId> order(gpu.placements().size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = PlacementId(i);
  std::stable_sort(order.begin(), order.end(), [&](PlacementId a, PlacementId b) {
    const Profile &pa = gpu.profile_of(a), &pb = gpu.profile_of(b);
    if (pa.compute_slices != pb.compute_slices) return pa.compute_slices < pb.compute_slices;
    if (pa.memory_slices != pb.memory_slices) return pa.memory_slices < pb.memory_slices;
    return gpu.placement(a).start < gpu.placement(b).start;
  });
  return order;
}

std::vector<std::uint32_t> gpus_by_mean_size(const Platform& platform, const std::vector<Layout>& layouts) {
  std::vector<std::uint32_t> order(layouts.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::pair<int, int>> mean(layouts.size());  // compute slices and count: compared by cross-multiplication
  for (std::size_t g = 0; g < layouts.size(); ++g)
    mean[g] = {platform.model(GpuId(g)).gpu->compute_used(layouts[g]), std::max(1, layouts[g].size())};
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return mean[a].first * mean[b].second > mean[b].first * mean[a].second;
  });
  return order;
}

void PlacingState::reset(const Cluster& cluster, const UsableSlices& usable, bool preemptive) {
  if (platform_ != &cluster.platform() || version_ != usable.version) {
    platform_ = &cluster.platform();
    version_ = usable.version;
    gpus_.resize(usable.layout.size());
    order_.clear();
    orders_.clear();
    for (const Platform::Model& model : platform_->models()) order_.push_back(placements_small_to_large(*model.gpu));
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      gpus_[g].usable = usable.layout[g];
      gpus_[g].order = find_order(platform_->model_index(GpuId(g)), usable.layout[g]);
      gpus_[g].total_slices = platform_->model(GpuId(g)).gpu->compute_used(usable.layout[g]);
    }
    by_mean_size_ = gpus_by_mean_size(*platform_, usable.layout);
    free_.number(*platform_, usable.layout, by_mean_size_, order_);
  }
  free_slots_ = 0;
  free_.free_all();
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    Gpu& gpu = gpus_[g];
    gpu.placed.clear();
    gpu.taken_slices = 0;
    gpu.free = gpu.usable.bits();
    if (!preemptive) {
      read_running(cluster.gpus()[g], gpu);
      for (const PlacementId p : gpu.usable& cluster.gpus()[g].busy) free_.take({GpuId(g), p});
    }
    free_slots_ += std::size_t(std::popcount(gpu.free));
  }
}

std::uint32_t PlacingState::find_order(int model, Layout usable) {
  for (std::uint32_t i = 0; i < orders_.size(); ++i)
    if (orders_[i].model == model && orders_[i].usable == usable) return i;
  orders_.push_back({model, usable, {}});
  for (const PlacementId p : order_[std::size_t(model)])
    if (usable.contains(p)) orders_.back().placements.push_back(p);
  return std::uint32_t(orders_.size() - 1);
}

void PlacingState::read_running(const GpuState& state, Gpu& gpu) {
  gpu.free = gpu.usable.bits() & ~state.busy.bits();
  gpu.taken_slices = state.busy_slices;
  gpu.placed.clear();
  for (PlacementId p : state.busy) gpu.placed.emplace_back(state.job_at[index(p)], p);
}

void PlacingState::reread(const Cluster& cluster, GpuId id) {
  Gpu& gpu = gpus_[index(id)];
  const std::uint32_t before = gpu.free;
  read_running(cluster.gpu(id), gpu);
  free_slots_ = free_slots_ + std::size_t(std::popcount(gpu.free)) - std::size_t(std::popcount(before));
  for (std::uint32_t rest = gpu.free ^ before; rest != 0; rest &= rest - 1) {
    const Slot slot{id, PlacementId(std::countr_zero(rest))};
    if (gpu.free & rest & -rest)
      free_.release(slot);
    else
      free_.take(slot);
  }
}

void PlacingState::take(JobId job, Slot slot) {
  Gpu& gpu = gpus_[index(slot.gpu)];
  gpu.free &= ~(1u << index(slot.where));
  gpu.taken_slices += platform_->model(slot.gpu).slices_of_placement[index(slot.where)];
  gpu.placed.emplace_back(job, slot.where);
  --free_slots_;
  free_.take(slot);
}

}  // namespace smartmig
