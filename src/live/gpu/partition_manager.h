// Which slice to give, and what to reshape for it. The number of complete layouts that a fleet can still take is the
// product of what each GPU can reach around its busy slices; a slice is given where that product shrinks least:
//
//   maximise  reach(busy + p) / reach(busy)   over all GPUs and all starts p of the profile,
//
// in this order of means: an idle slice as it is (idle slices are kept for that), free room, idle slices that make way.
// Ties: fewer seconds, lower GPU, lower start. Idle slices make way by fusion (neighbours become one) or fission (one
// becomes smaller ones). Exact integers, no clock, no device. Thread rule: const methods in parallel, set() alone.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "mig/moves.h"
#include "mig/reach_table.h"
#include "mig/shape.h"

namespace smartmig {

struct SliceOffer {
  enum Means : std::uint8_t { kReuse, kCreate, kFission, kFusion } means = kReuse;
  GpuId gpu = kNoGpu;
  PlacementId placement = kNoPlacement;
  Move move;  // empty for kReuse
  Time predicted{};
  std::uint32_t reach_before = 0, reach_after = 0;
};

struct Fragmentation {
  double score = 0;                                        // 1 - reach(busy) / reach(busy slices placed best); 0: none
  int largest_free = 0, largest_if_packed = 0;             // compute slices of the largest profile that still fits
  Layout packed;                                           // the best place for the busy slices
  std::vector<std::pair<PlacementId, PlacementId>> moves;  // what would heal it: from, to
};

class PartitionManager {
 public:
  explicit PartitionManager(std::vector<std::shared_ptr<const GpuModel>> gpus);  // model of each GPU

  void set(GpuId gpu, Layout layout, Layout busy);  // REQUIRES: busy is a subset of layout
  void block(GpuId gpu, bool blocked);              // in quarantine: nothing is offered there
  const GpuModel& model(GpuId gpu) const { return *kinds_[gpus_[index(gpu)].kind].model; }
  Layout layout(GpuId gpu) const { return gpus_[index(gpu)].layout; }
  Layout busy(GpuId gpu) const { return gpus_[index(gpu)].busy; }

  // The distinct models in order of first appearance; choose() takes one profile index for each, -1: not on that model.
  std::size_t kinds() const { return kinds_.size(); }
  const GpuModel& kind(std::size_t k) const { return *kinds_[k].model; }
  std::optional<SliceOffer> choose(std::span<const int> profile_of_kind) const;
  std::optional<SliceOffer> choose(std::string_view profile) const;  // by name, where a model has it

  // Idle neighbours (and free room between them) become one slice of this profile.
  std::optional<SliceOffer> fuse(GpuId gpu, int profile) const;
  // One idle slice becomes smaller ones on its own memory slices, largest first at the lowest start.
  Result<Move> split(GpuId gpu, PlacementId idle, Shape parts) const;

  Fragmentation fragmentation(GpuId gpu) const;

 private:
  struct Kind {
    std::shared_ptr<const GpuModel> model;
    ReachTable reach;
    ShapeTable shapes;                             // of all profiles
    std::vector<std::vector<PlacementId>> places;  // by profile, by start
    std::vector<Time> create, destroy;             // by placement
    std::vector<std::uint32_t> overlaps;           // by placement: placements that share memory with it
  };
  struct Gpu {
    std::size_t kind = 0;
    Layout layout, busy;
    bool blocked = false;
  };
  void consider(GpuId id, PlacementId p, std::optional<SliceOffer>& best) const;

  std::vector<Kind> kinds_;
  std::vector<Gpu> gpus_;
};

}  // namespace smartmig
