// CEDF under paper costs, incrementally: the same answers as PlainPlacer with the CEDF rule, at a fraction of the work.
//
// Placing everything anew is a serial dictatorship: jobs choose in a fixed order, each the best slice left by those
// before it. Number the slices in scan order (GPUs by mean slice size, slices small to large). Whoever chooses a slice
// type takes its first free slice, so at any turn the slices of a type that are taken are the first ones: a job's
// choice depends on the past through one count per type only. Each job remembers the counts before its turn and the
// types that are on time for it, so
//   - a decision starts at the first job whose turn may have changed: the place in the order of a job that came or
//     went, or a job whose set of on-time types has changed (progress on a fast slice makes a slower one sufficient; a
//     late job loses what would have saved it; the instant is computed when the job chooses);
//   - on the way a job chooses by comparing a few slice numbers, without arithmetic on times, as long as its choice
//     stays;
//   - it ends where the counts are again what they were.
// Jobs that find no slice wait in a heap behind the scan. Which job of one type gets which slice is settled afterwards,
// as PlainPlacer does, so that jobs stay where they are if they can: the slices in use are the first of each type.
//
// Work that must be done per event: the change itself. Work done: some tens of instructions per job between the first
// and the last changed turn, at most the number of jobs running at once.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/placer.h"
#include "policy/placing_rules.h"
#include "policy/queue_placer.h"

namespace smartmig {

class FastCedf : public Placer {
 public:
  void place(const Cluster& cluster, const UsableSlices& usable, Plan& plan) override;

 private:
  // Slice types in use at once; QueuePlacer serves fleets with more, power models that look at the job, and neighbours that
  // slow each other.
  static constexpr std::size_t kMaxTypes = 8;
  __extension__ using Key = unsigned __int128;  // class, deadline, job: the order of choosing
  struct Counts {                               // slices of each type
    std::array<std::uint32_t, kMaxTypes> of{};
    bool operator==(const Counts& other) const {
      std::uint32_t difference = 0;
      for (std::size_t t = 0; t < kMaxTypes; ++t) difference |= of[t] ^ other.of[t];
      return difference == 0;
    }
    std::uint32_t& operator[](std::size_t t) { return of[t]; }
    std::uint32_t operator[](std::size_t t) const { return of[t]; }
  };

  struct Entry {
    Key key;
    Counts before;                                // slices of each type taken by those before it
    Time recheck;                                 // its on-time types are as noted until then
    std::int32_t rank;                            // its slice is the rank-th of held_type; -1: none
    std::int8_t type;                             // chosen; -1: none
    std::int8_t held_type;                        // -1: none
    std::uint8_t runs;                            // how many types it runs on
    std::uint8_t on_time;                         // how many of them, the fastest ones, are on time
    std::array<std::uint8_t, kMaxTypes> by_work;  // types, fastest first; kEqual marks one as fast as its predecessor
    JobId job() const { return JobId(std::uint32_t(key)); }
  };
  struct Type {
    TypeId id;
    std::vector<std::uint32_t> scan;  // scan number of its rank-th slice, then UINT32_MAX
    std::vector<GpuId> gpu;           // by rank
    std::vector<PlacementId> where;
    std::vector<JobId> holder;              // by rank; kNoJob: the slice is free
    std::vector<std::uint64_t> free_ranks;  // bit per rank
  };

  Key key_of(const Cluster& cluster, JobId job) const;
  std::size_t find(Key key) const;  // first entry not before key
  bool number_slices(const Cluster& cluster, const UsableSlices& usable);
  void rebuild(const Cluster& cluster, const UsableSlices& usable, Plan& plan);
  std::size_t take_news(const Cluster& cluster, Counts& counts);
  void pass(const Cluster& cluster, std::size_t from, std::size_t last, Counts counts, Plan& plan);
  static constexpr std::uint8_t kEqual = 0x80, kTypeMask = 0x7F;
  static Entry entry_of(Key key) { return {key, {}, Time{0}, -1, -1, -1, 0, 0, {}}; }
  int choose(const Entry& entry, const Counts& counts) const;  // by what the entry has noted
  void sort_types(Entry& entry, std::span<const Time> work) const;
  void evaluate(const Cluster& cluster, Entry& entry, const Counts& counts) const;
  void choose_exactly(const Cluster& cluster, Entry& entry, const Counts& counts) const;
  void release_slice(Entry& entry);
  void take_slice_from(Entry& entry, Plan& plan);
  void assign_slices(const Cluster& cluster, const Counts& before, Plan& plan);

  bool ready_ = false;
  std::uint64_t version_ = 0, expected_decision_ = 0;
  std::optional<CedfClasses> classes_;
  std::optional<QueuePlacer> other_;  // instead, where the above does not hold
  std::vector<Type> types_;
  std::array<const std::uint32_t*, kMaxTypes> scan_of_{};  // types_[t].scan
  std::size_t slices_ = 0;
  Counts totals_{};                     // slices of each type taken by all
  std::vector<Entry> scan_;             // in order of choosing: all that have a slice, and those that none suits
  std::vector<Key> waiting_;            // min-heap: jobs behind the scan
  Time next_recheck_ = kNever;          // no entry needs a recheck earlier
  std::vector<std::size_t> to_assign_;  // places in the scan of those that have chosen a type and need a slice
};

}  // namespace smartmig
