// A job as its owner describes it: arrival, deadline, time on each slice size, needs. Immutable; its state lives in
// Cluster.
#pragma once
#include <array>
#include <cstdint>

#include "base/units.h"

namespace smartmig {

inline constexpr int kMaxComputeSlices = 8;
inline constexpr Time kCannotRun{-1};

inline constexpr double kUsualSlowdown = 0.5;  // Crowding::log_slowdown before any measurement: docs/learning-jobs.md
inline constexpr double kMostSlowdown = 2, kMostBeside = 2;

// How neighbours slow a job on a board whose slices are soft (MPS). Beside neighbours with x of the board's compute
// slices it takes exp(log_slowdown * (x - beside)) times its `work`. Slices of half the memory count in full, so x may
// be near 2.
struct Crowding {
  double log_slowdown = 0;  // with a whole board of neighbours, against none; 0: nobody slows it; at most kMostSlowdown
  double beside = 0;        // x during the runs that measured `work`

  double factor(double others) const;
};

struct Job {
  Time submit{};
  Time deadline = kNever;         // absolute and soft; may lie before submit; kNever: none
  bool deadline_made_up = false;  // the owner gave none: it only says that the job is wanted soon
  bool undeclared = false;        // the owner gave none: `deadline` keeps fairness between users, or is made up
  // work[k - 1]: time of the whole job on a slice of k compute slices of the workload's reference model; kCannotRun
  // where it does not run. Zero is legal.
  std::array<Time, kMaxComputeSlices> work = [] {
    std::array<Time, kMaxComputeSlices> w;
    w.fill(kCannotRun);
    return w;
  }();
  double spread = 0;              // standard deviation of log(time), with `work` as the median; 0: known exactly
  int kind = -1;                  // index into Workload::kinds; -1: none
  int mem_mib = -1;               // -1: unknown; then the kind's table decides, else it fits everywhere
  bool patient = false;           // may wait, while it has time, if that saves energy
  Crowding crowding;              // how its neighbours slow it
  Time restart{-1};               // cost of resuming after a preemption (hardware costs); negative: never preempted
  bool idle = false;              // holds its slice and computes nothing: memory of dead processes (queue/belief)
  std::uint64_t reservation = 0;  // tag of its reservation of GPUs (policy/layers/reserved_gpus.h); 0: none

  // By compute slices - 1: what a run on that size teaches about similar jobs (queue/learning/history.h), as a share of
  // its time; at most 0.02. Policies subtract it from their costs if the job has no deadline.
  std::array<float, kMaxComputeSlices> teaches{};

  bool has_deadline() const { return deadline != kNever && !deadline_made_up; }
  Time work_on(int compute_slices) const { return work[std::size_t(compute_slices - 1)]; }
};

}  // namespace smartmig
