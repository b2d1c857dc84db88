// Moves between layouts of one GPU. A move is set algebra: destroy what only `from` has, create what only `to` has,
// keep the rest running. Instances in use cannot be destroyed or moved, so busy instances limit the layouts that a GPU
// can reach; reach() counts them. This file has no clock: model/reconfig.h has the seconds per operation.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "mig/gpu_model.h"

namespace smartmig {

struct Move {
  Layout destroy, keep, create;
};

constexpr Move move_between(Layout from, Layout to) { return {from - to, from & to, to - from}; }

// Whether the move is possible while the instances of `busy` run. `busy` is a subset of the layout that the move starts
// from.
constexpr bool legal(const Move& move, Layout busy) { return (move.destroy & busy).empty(); }

struct Operation {
  enum Kind : std::uint8_t { kDestroy, kCreate } kind;
  PlacementId placement;
  bool operator==(const Operation&) const = default;
};

// The move as single driver calls: destroys by start, then creates by start. Every intermediate state is a valid
// layout, so the sequence may stop after any call.
std::vector<Operation> operations(const GpuModel& model, const Move& move);

// What is reachable while `busy` must stay: the valid layouts that contain it and add any of `profiles`.
struct Reach {
  int layouts = 0;  // includes `busy` itself
  int maximal = 0;  // those to which none of `profiles` can be added
  int shapes = 0;   // distinct multisets of profiles among them
  bool operator==(const Reach&) const = default;
};
Reach reach(const GpuModel& model, Layout busy, ProfileMask profiles);

// Where a new instance of `profile` next to `layout` leaves the most layouts reachable. Ties go to the lowest start.
// nullopt: it fits nowhere.
std::optional<PlacementId> best_placement(const GpuModel& model, Layout layout, int profile, ProfileMask profiles);

}  // namespace smartmig
