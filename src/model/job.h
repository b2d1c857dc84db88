// A job as its owner describes it: when it comes, when it should be done, how long it takes on each slice size, what it
// needs. Immutable; its state lives in Cluster.
#pragma once
#include <array>
#include <cstdint>

#include "base/units.h"

namespace smartmig {

inline constexpr int kMaxComputeSlices = 8;
inline constexpr Time kCannotRun{-1};

inline constexpr double kUsualSlowdown = 0.5;  // Crowding::log_slowdown until runs say so: docs/learning-jobs.md
inline constexpr double kMostSlowdown = 2, kMostBeside = 2;

// How others slow a job on a board whose slices are soft (MPS): beside others with x of the board's compute slices it takes
// exp(log_slowdown * (x - beside)) times its `work`. Slices of half the memory count whole, so x may be near 2.
struct Crowding {
  double log_slowdown = 0;  // beside a board's worth of others, against alone; 0: nobody slows it; to kMostSlowdown
  double beside = 0;        // x of the runs that `work` was measured on

  double factor(double others) const;
};

struct Job {
  Time submit{};
  Time deadline = kNever;         // absolute and soft; may lie before submit; kNever: none
  bool deadline_made_up = false;  // its owner gave none: it only says that the job is wanted soon
  bool undeclared = false;        // its owner gave none: `deadline` keeps the peace between users, or is made up
  // work[k - 1]: time of the whole job on a slice of k compute slices of the workload's reference model; kCannotRun
  // where it does not run. Zero is legal.
  std::array<Time, kMaxComputeSlices> work = [] {
    std::array<Time, kMaxComputeSlices> w;
    w.fill(kCannotRun);
    return w;
  }();
  double spread = 0;              // of the logarithm of its time about `work`, its median; 0: known exactly
  int kind = -1;                  // index into Workload::kinds; -1: none
  int mem_mib = -1;               // -1: unknown, then the kind's table, else fits everywhere
  bool patient = false;           // may wait while it has time, where that saves energy
  Crowding crowding;              // by its neighbours
  Time restart{-1};               // cost of resuming after a preemption (hardware costs); negative: never preempted
  bool idle = false;              // it holds its slice and computes nothing: what dead processes hold (serve/daemon)
  std::uint64_t reservation = 0;  // tag of the reservation of GPUs that it runs in (policy/reserved_gpus.h); 0: none

  // By compute slices - 1: the share of its time that a run on that size is worth for what it teaches of the job's like
  // (serve/daemon/history.h); 0.02 at most. Policies take it off their costs where the job has no deadline.
  std::array<float, kMaxComputeSlices> teaches{};

  bool has_deadline() const { return deadline != kNever && !deadline_made_up; }
  Time work_on(int compute_slices) const { return work[std::size_t(compute_slices - 1)]; }
};

}  // namespace smartmig
