// The fleet as a placer sees it while it fills slices: which are still free, how full each GPU is, what has been put
// where. Scratch space, reused from decision to decision.
#pragma once
#include <cstdint>
#include <vector>

#include "policy/placer.h"

namespace smartmig {

struct Slot {
  GpuId gpu = kNoGpu;
  PlacementId where = kNoPlacement;
  bool none() const { return gpu == kNoGpu; }
  bool operator==(const Slot&) const = default;
};

class Board {
 public:
  struct Gpu {
    Layout usable;
    std::uint32_t free = 0;                             // placements, by bit
    int taken_slices = 0;                               // compute slices of what has been put here
    int total_slices = 0;                               // compute slices of the layout
    std::vector<std::pair<JobId, PlacementId>> placed;  // running jobs that stay and jobs put here
  };

  // All usable slices free (`preemptive`), or only those without a running job.
  void reset(const Cluster& cluster, const UsableSlices& usable, bool preemptive);
  void take(JobId job, Slot slot);

  const std::vector<Gpu>& gpus() const { return gpus_; }
  std::size_t free_slots() const { return free_slots_; }
  // The placements of a GPU's model from small to large: by compute slices, memory slices, start.
  const std::vector<PlacementId>& small_to_large(std::size_t gpu) const { return order_[std::size_t(model_of_[gpu])]; }
  // GPUs by mean slice size of their layout, descending, then index.
  const std::vector<std::uint32_t>& by_mean_size() const { return by_mean_size_; }

 private:
  const Platform* platform_ = nullptr;
  std::uint64_t version_ = 0;
  std::vector<Gpu> gpus_;
  std::vector<int> model_of_;
  std::vector<std::vector<PlacementId>> order_;  // by model
  std::vector<std::uint32_t> by_mean_size_;
  std::size_t free_slots_ = 0;
};

std::vector<PlacementId> placements_small_to_large(const GpuModel& gpu);
std::vector<std::uint32_t> gpus_by_mean_size(const Platform& platform, const std::vector<Layout>& layouts);

}  // namespace smartmig
