// CEDF under paper costs, incrementally: the same results as PlainPlacer with the CEDF rule, for a fraction of the
// work.
//
// A complete placement is a serial dictatorship: jobs choose in a fixed order, each the best slice left. Number the
// slices in scan order (GPUs by mean slice size, slices small to large). A job that chooses a slice type takes its
// first free slice, so at any turn the taken slices of a type are its first ones: a job's choice depends on the earlier
// jobs through one count per type only. Each job stores the counts before its turn and the types on which it is on
// time, so
//   - a decision starts at the first job whose turn may have changed: the position of a job that arrived or left, or a
//     job whose set of on-time types has changed (progress on a fast slice makes a slower one sufficient; a late job
//     loses the type that would have saved it; this instant is computed when the job chooses);
//   - on the way, a job chooses by comparing a few slice numbers, without arithmetic on times, as long as its choice
//     stays the same;
//   - it ends where the counts equal the stored ones.
// Jobs without a slice wait in a heap behind the scan. Which job of a type gets which slice is decided afterwards, as
// in PlainPlacer, so that jobs stay where they are if possible: the slices in use are the first of each type.
//
// Necessary work per event: the change itself. Work done: some tens of instructions per job between the first and the
// last changed turn, which is at most the number of jobs that run at once.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/placing/placer.h"
#include "policy/placing/placing_rules.h"
#include "policy/placing/queue_placer.h"

namespace smartmig {

class FastCedf : public Placer {
 public:
  void place(const Cluster& cluster, const UsableSlices& usable, Plan& plan) override;

 private:
  // Slice types in use at once. QueuePlacer serves fleets with more, power models that depend on the job, and
  // neighbours that slow each other.
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
    Counts before;                                // slices of each type that earlier jobs have taken
    Time recheck;                                 // its on-time types are valid until then
    std::int32_t rank;                            // its slice is the rank-th of held_type; -1: none
    std::int8_t type;                             // chosen; -1: none
    std::int8_t held_type;                        // -1: none
    std::uint8_t runs;                            // how many types it runs on
    std::uint8_t on_time;                         // how many of them, the fastest, are on time
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
  int choose(const Entry& entry, const Counts& counts) const;  // uses the entry's notes
  void sort_types(Entry& entry, std::span<const Time> work) const;
  void evaluate(const Cluster& cluster, Entry& entry, const Counts& counts) const;
  void choose_exactly(const Cluster& cluster, Entry& entry, const Counts& counts) const;
  void release_slice(Entry& entry);
  void take_slice_from(Entry& entry, Plan& plan);
  void assign_slices(const Cluster& cluster, const Counts& before, Plan& plan);

  bool ready_ = false;
  std::uint64_t version_ = 0, expected_decision_ = 0;
  std::optional<CedfClasses> classes_;
  std::optional<QueuePlacer> other_;  // used instead if the conditions above fail
  std::vector<Type> types_;
  std::array<const std::uint32_t*, kMaxTypes> scan_of_{};  // types_[t].scan
  std::size_t slices_ = 0;
  Counts totals_{};                     // slices of each type that are taken in total
  std::vector<Entry> scan_;             // in the order of choosing: jobs with a slice, and jobs that no slice suits
  std::vector<Key> waiting_;            // min-heap: jobs behind the scan
  Time next_recheck_ = kNever;          // no entry needs a recheck earlier
  std::vector<std::size_t> to_assign_;  // positions in the scan of jobs that have chosen a type and need a slice
};

}  // namespace smartmig
