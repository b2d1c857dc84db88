// The timeline of one GPU: running jobs until their expected ends, and reservations of jobs to come. Time is cut into
// intervals; in each one a set of placements is taken, so "when is this placement free for so long?" and "what would
// the watts be?" are short walks over a few words. Beyond the last interval nothing is taken.
//
// Placements of a GPU exclude each other where they overlap or exceed a profile's number of instances (conflicts of
// PlacementTable); a taken placement blocks all that it excludes. Units: microseconds, watts, compute slices.
#pragma once
#include <cstdint>
#include <vector>

#include "model/platform.h"
#include "model/power.h"

namespace smartmig {

// Facts of a GPU model by placement, for quick walks.
struct PlacementTable {
  explicit PlacementTable(const Platform::Model& model);
  std::vector<std::uint32_t> conflicts;  // placements that cannot stand beside this one, itself included
  std::vector<std::uint8_t> slices;      // compute slices
  std::vector<TypeId> type;
  std::vector<std::uint32_t> of_type;  // by (TypeId - first_type): its placements
  std::vector<Time> create, destroy;   // one instance there
  std::uint32_t offered = 0;           // placements of profiles that jobs are put on
  std::uint32_t slots = 0;             // placements of the smallest slices, of one profile
  double slot_room = 0;                // of one of them (SliceType::room)
  int first_type = 0;
};

class GpuTimeline {
 public:
  void clear(Time now);
  // REQUIRES: `where` is free from `begin` to `end`, begin < end, begin >= the `now` of clear().
  void take(const PlacementTable& table, PlacementId where, Time begin, Time end);

  // The first instant from `from` on at which `where` is free for `length`.
  Time first_fit(PlacementId where, Time from, Time length) const;
  // When `where` is first free, for however short a time.
  Time first_free(PlacementId where) const { return first_fit(where, cells_.front().at, Time(1)); }
  std::uint32_t blocked_first() const { return cells_.front().blocked; }
  std::uint32_t blocked_at(Time at) const;  // REQUIRES: not before clear()'s now
  // Slot-minutes that these slots lie idle until `at`, each since it was last taken.
  double idle_before(std::uint32_t slots, Time at) const;
  // The end of the first interval; kNever where there is one only.
  Time first_end() const { return cells_.size() > 1 ? cells_[1].at : kNever; }
  // Watt-microseconds that `slices` more compute slices (or `added` watts) draw from `begin` to `end`.
  double added_energy(const PowerModel& power, int slices, double added, Time begin, Time end) const;

 private:
  struct Cell {
    Time at;  // begin; the end is the next cell's begin
    std::uint32_t blocked = 0;
    int busy_slices = 0;
  };
  std::size_t cut(Time at);
  std::vector<Cell> cells_;
};

}  // namespace smartmig
