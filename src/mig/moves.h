// Moves between layouts of one GPU. A move is set algebra: destroy what only `from` has, create what only `to` has,
// keep the rest running. Instances in use cannot be destroyed or moved, so what is busy limits where a GPU can go;
// reach() measures how far. No clock here: seconds per operation are model/reconfig.h.
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

// May the move be made while the instances of `busy` run? `busy` is a subset of what the move starts from.
constexpr bool legal(const Move& move, Layout busy) { return (move.destroy & busy).empty(); }

struct Operation {
  enum Kind : std::uint8_t { kDestroy, kCreate } kind;
  PlacementId placement;
  bool operator==(const Operation&) const = default;
};

// The move as driver calls, one at a time: destroys by start, then creates by start. Every intermediate state is a
// valid layout, so the sequence may stop after any of them.
std::vector<Operation> operations(const GpuModel& model, const Move& move);

// What can still be reached when `busy` must stay: valid layouts that contain it and add any of `profiles`.
struct Reach {
  int layouts = 0;  // `busy` alone included
  int maximal = 0;  // of those, the ones to which none of `profiles` can be added
  int shapes = 0;   // distinct multisets of profiles among them
  bool operator==(const Reach&) const = default;
};
Reach reach(const GpuModel& model, Layout busy, ProfileMask profiles);

// Where a new instance of `profile` does least harm beside `layout`: the start that leaves most layouts reachable; ties
// go to the lowest start. nullopt when it fits nowhere.
std::optional<PlacementId> best_placement(const GpuModel& model, Layout layout, int profile, ProfileMask profiles);

}  // namespace smartmig
