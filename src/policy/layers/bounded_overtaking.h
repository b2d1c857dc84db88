// Prevents starvation: wraps any policy so that no queued job is overtaken for ever. A planner that fills small slices
// first may let a job that needs the whole GPU wait as long as small jobs keep arriving. Here such a job becomes due,
// and one GPU drains for it.
//
//   overtaking  a job starts while an earlier one (by submit, then id) waits; it counts for the waiting one
//   due         overtaken `bound` times; or waiting for `patience` and either overtaken or in need of a slice that no
//               GPU has now or in its target
//   drain       oldest due job first: reserves the GPU and placement where the job can start soonest (expected finishes
//               of what is in the way, then the instance operations). Drops starts of others that overlap it, puts the
//               placement into the GPU's target, and starts the job once its slice exists. One reservation per GPU; due
//               jobs that find none take free slices before any later job does.
//   after       the GPU belongs to the inner policy again: one with fixed shapes asks for them (repartitioners.h).
//
// Starts elsewhere continue, since they do not delay a due job. So once a job is due, only starts count that take what
// is reserved for it or, without a reservation, a slice that it could have used: its count stays within bound + the
// starts of one plan (tests/property/overtaking_test.cc). If nothing is due, the plan is the inner policy's, unchanged.
// This applies to hardware costs only: under paper costs a plan passes unchanged. Counts follow a job by its name
// through renumbered tables and into a fork of the fleet (Memory), so a future continues from the present. Cost:
// O(unfinished jobs) per decision, and for each due job O(placements of the GPUs that are not idle).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sched/policy.h"

namespace smartmig {

struct OvertakingOptions {
  std::uint32_t bound = 64;               // kNoBound: never due by its count
  Time patience = std::chrono::hours(4);  // kNever: never due by waiting
};
inline constexpr std::uint32_t kNoBound = 0xFFFFFFFF;

class BoundedOvertaking : public Policy {
 public:
  explicit BoundedOvertaking(std::unique_ptr<Policy> inner, OvertakingOptions options = {})
      : inner_(std::move(inner)), options_(options) {}
  void decide(const Cluster& cluster, Plan& plan) override;
  std::vector<PlannedStart> planned_starts(const Cluster& cluster) const override {
    return inner_->planned_starts(cluster);
  }
  Policy& inner() { return *inner_; }

  // As of the last decision.
  std::uint32_t overtaken(JobId job) const {
    return index(job) < memory_.rows.size() ? memory_.rows[index(job)].overtaken : 0;
  }
  std::uint32_t most_overtaken() const { return most_; }  // the largest count of any job so far
  const std::vector<JobId>& due() const { return due_; }  // waiting; oldest first
  struct Reservation {
    JobId job = kNoJob;
    GpuId gpu = kNoGpu;
    PlacementId where = kNoPlacement;
    Time start{};  // expected
  };
  const std::vector<Reservation>& reservations() const { return memory_.reservations; }  // oldest job first
  const Reservation* reservation_of(JobId job) const;
  const Reservation* reservation_on(GpuId gpu) const;
  std::uint64_t drains() const { return drains_; }  // number of reservations so far

  using Order = std::pair<Time, std::uint32_t>;  // of arrivals
  struct Row {
    std::uint64_t name = 0;  // a hash that survives renumbering
    std::uint32_t overtaken = 0;
    bool due = false;
  };
  struct Asked {
    Start start;
    Order order;
    std::uint64_t name = 0;
  };
  // What the layer knows of the fleet: how often each job was overtaken, what is reserved.
  struct Memory {
    Time last_now{};
    std::vector<Row> rows;     // by job
    std::vector<Asked> asked;  // starts of the last plan that have not been seen to happen
    std::vector<Reservation> reservations;
    std::vector<Layout> wanted;  // by GPU: the inner policy's last wish
    std::vector<Row> restored;   // from before a restart, for jobs not seen since
  };
  const Memory& memory() const { return memory_; }
  // Only the counts, for the daemon's next start: jobs are equal by name and submit.
  std::string counts_text() const;
  static Memory counts_in(const std::string& text);
  void remember(Memory memory) { memory_ = std::move(memory); }  // takes another's memory of the same jobs and GPUs

 private:
  Order order(JobId job) const { return {cluster_->jobs().job(job).submit, index(job)}; }
  std::uint64_t name_hash(JobId job) const;
  bool waits(JobId job) const;
  Row first_row(std::uint64_t name);  // for a job that is new here
  void see_new_cluster();
  void count_starts();
  void find_due();
  bool needs_reshape(JobId job) const;
  void release_reservations();
  void leave_out_stops(Plan& plan) const;
  void note_wanted_layouts(const Plan& plan);
  void serve(JobId job, Plan& plan);
  bool keeps_slice(const Start& start, JobId job) const;
  bool spares_starts(JobId job, GpuId gpu, PlacementId where, const Plan& plan) const;
  Reservation soonest(JobId job, const Plan& plan) const;
  Time start_estimate(JobId job, GpuId gpu, PlacementId where, const Plan& plan) const;
  Time idle_from(JobId job, GpuId gpu, PlacementId slice, const Plan& plan) const;
  bool available(JobId job, GpuId gpu, PlacementId where, const Plan& plan) const;  // exists and is idle
  void hold(GpuId gpu, PlacementId where, JobId job, Plan& plan);
  bool untouched(GpuId gpu) const;  // idle, neither planned nor reserved
  void note_places(const Plan& plan);
  Layout target_with(GpuId gpu, PlacementId where) const;
  void write_reshapes(Plan& plan) const;

  std::unique_ptr<Policy> inner_;
  OvertakingOptions options_;
  const Cluster* cluster_ = nullptr;  // during decide
  std::uint64_t identity_ = 0;
  Memory memory_;
  std::vector<JobId> due_;
  std::vector<Layout> target_;  // by GPU: its target after this plan
  // By GPU, during decide: the plan may have a start there; there may be a reservation. Never false where one exists.
  std::vector<std::uint8_t> started_, reserved_;
  std::uint32_t most_ = 0;
  std::uint64_t drains_ = 0;
};

}  // namespace smartmig
