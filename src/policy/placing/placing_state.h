// The fleet as a placer sees it while it fills slices: free slices, fullness of each GPU, placed jobs. Scratch space,
// reused for every decision.
#pragma once
#include <cstdint>
#include <vector>

#include "policy/placing/free_slices.h"
#include "policy/placing/placer.h"

namespace smartmig {

class PlacingState {
 public:
  struct Gpu {
    Layout usable;
    std::uint32_t order = 0;                            // index into orders_: of its usable placements
    std::uint32_t free = 0;                             // free placements, by bit
    int taken_slices = 0;                               // compute slices of the jobs placed here
    int total_slices = 0;                               // compute slices of the layout
    std::vector<std::pair<JobId, PlacementId>> placed;  // running jobs that stay, and jobs placed here
  };

  // Frees all usable slices (`preemptive`), or only those without a running job.
  void reset(const Cluster& cluster, const UsableSlices& usable, bool preemptive);
  void take(JobId job, Slot slot);
  // Rereads one GPU after a reset() that was not `preemptive`: its jobs have changed, its usable slices have not.
  void reread(const Cluster& cluster, GpuId gpu);

  const std::vector<Gpu>& gpus() const { return gpus_; }
  std::size_t free_slots() const { return free_slots_; }
  const FreeSlices& free() const { return free_; }
  // The usable placements of a GPU, small to large: by compute slices, memory slices, start.
  const std::vector<PlacementId>& small_to_large(std::size_t gpu) const { return orders_[gpus_[gpu].order].placements; }
  // GPUs by the mean slice size of their layout, descending, then by index.
  const std::vector<std::uint32_t>& by_mean_size() const { return by_mean_size_; }

 private:
  void read_running(const GpuState& state, Gpu& gpu);

  const Platform* platform_ = nullptr;
  std::uint64_t version_ = 0;
  std::vector<Gpu> gpus_;
  struct Order {  // for a model with a layout
    int model;
    Layout usable;
    std::vector<PlacementId> placements;
  };
  std::uint32_t find_order(int model, Layout usable);
  std::vector<std::vector<PlacementId>> order_;  // by model: all placements
  std::vector<Order> orders_;
  std::vector<std::uint32_t> by_mean_size_;
  std::size_t free_slots_ = 0;
  FreeSlices free_;
};

std::vector<PlacementId> placements_small_to_large(const GpuModel& gpu);
std::vector<std::uint32_t> gpus_by_mean_size(const Platform& platform, const std::vector<Layout>& layouts);

}  // namespace smartmig
