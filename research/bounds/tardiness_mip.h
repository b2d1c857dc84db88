// The tardiness bound of the SMART-MIG paper: a time-indexed mixed-integer program on the linearised jobs
// (linearised.h), for small cases. Every schedule of the true jobs, preemptive or not, under either cost model, is a
// point of the program that costs at most its tardiness, so what the solver proves is a lower bound on the mean
// tardiness of every policy; or, given layouts, of every policy that keeps those layouts (an inference: otherwise the
// paper's 17 and 34 % of Fig. 11 make no sense).
//
// Machines come in classes: n(k) of them with k slices. With layouts they are the slices. Without layouts there is one
// class of m whole GPUs: a linearised job on any slices of one GPU, or on several in turn, does no more than a
// preemptable one on whole GPUs could. Time is cut into slots no longer than D, with a cut at every release. Job j, of
// W slice-minutes and release r, has
//   t[j,s,k] >= 0      minutes in slot s on machines of class k; none before r
//   z[j,s] in {0, 1}   it is complete at the end of slot s
//   T[j]               its tardiness
// minimise sum T, where x[j,s] = sum_k k t[j,s,k] / W is the share of its work done in slot s, and
//   sum_j t[j,s,k] <= n(k) len(s),  sum_k t[j,s,k] <= len(s)   no machine has two jobs at once, no job two machines
//   sum_s x = 1,  sum_{u<=s} x >= z[j,s] >= z[j,s-1]     complete means that all work is done
//   T >= sum_s (z[j,s] - z[j,s-1]) (start(s) - d)+
//   T >= sum_s x[j,s] g(start(s)),  g(t) = max(0, p (floor((t - d + theta) / p) + 1)) - theta,  some theta in [0, p)
//   T >= sum_s x[j,s] (start(s) - d) + f(b) + f'(b) (a - b),  some b in [0, 1)
// where a is the share of its work done on the fastest class and in the endless slot, p its time on the fastest class,
// q its time on the next class, and f(a) = q/2 (1 - a)^2 + p a (1 - a/2). Proof of f: in the last u minutes before its
// end no job does more than u/p of its work if that is at most a, else a + (u - a p)/q. The mean of (C - time of the
// work) is the integral over u of what was not done in them, so at least f(a). f is convex and falls, so its tangents
// hold, and counting too much as fast is safe. No job ends before r + p: if d is earlier, the difference is certain and
// d is moved. Proof of the staircase g: g never falls, so among the job's schedules that end at C, its work costs most
// when it is done as late as possible, evenly over [C - p, C]. The mean of g over that window is C - d for C >= d and
// at most 0 below, so it never exceeds (C - d)+. These lines follow from the true schedule, not from the others; they
// carry nearly all of the bound. Of the slots in which the job would be on time, only the last has a z. One slot
// without capacity limits follows the horizon, so no schedule is excluded.
//
// Error of the slots: a completion is charged as if it were at the start of its slot; nothing else is rounded. If the
// horizon is long enough (horizon_min = 0 chooses one: last release + sum W / sum k n(k) + max W / slowest; a schedule
// that leaves no machine needlessly idle ends by then), the solution of the program is, slot by slot, a preemptive open
// shop, hence a schedule of the linearised jobs in which no job is later by more than D. So
//   optimum of the program <= optimum of the linearised jobs <= optimum of the program + D, in mean tardiness.
// Jobs without a deadline or without work delay nobody and are omitted. Units: minutes.
#pragma once
#include "model/job_table.h"
#include "research/bounds/mip.h"

namespace smartmig {

struct TardinessOptions {
  double slot_min = 0.5;       // D
  double horizon_min = 0;      // the latest begin of the endless slot; 0: late enough for the error to hold
  std::vector<Shape> layouts;  // one per GPU: a bound for these layouts only; empty: for all
  // Uses each job's own speed on each slice instead of the linearised one: tighter, needs layouts, refuses nothing.
  bool own_speeds = false;
  MipLimits limits;
  int search_steps = 0;  // orders tried for a good schedule (tardiness_search.h), given layouts; 0: no search
  // Also computes the bound of whole runs (tardiness_runs.h), which has no error of slots, with at most this many
  // branches; below 0: not. Then schedules are sought without layouts, too: of linearised jobs on whole GPUs.
  int branches = -1;
};

struct TardinessBound {
  double mean_min = 0;  // proven lower bound on the mean tardiness of every schedule
  double slot_min = 0;  // D: width of the widest slot, the most that slots lose against the optimum
  double mip_gap_min =
      0;  // left open by the solver: optimum of the program <= mean_min + mip_gap_min; infinite if unknown
  bool proven_optimal = false;         // the solver finished: mip_gap_min is its tolerance
  double program_min = 0;              // proven by the program alone; mean_min: the larger of this and whole runs
  double root_min = 0;                 // the bound of whole runs without branching, if requested
  double schedule_min = kMipInfinity;  // mean tardiness of the best schedule found: the optimum is not above it
  bool met = false;                    // bound and schedule are within kMetShare of the schedule: solved
  int branches = 0;
  std::size_t slots = 0, binaries = 0;
  int nodes = 0;
  double seconds = 0;
};

// Refuses, with a sentence: superlinear jobs, no time on one slice, several GPU models, more than
// kMostTardinessBinaries.
inline constexpr std::size_t kMostTardinessBinaries = 200'000;
inline constexpr double kMetShare = 1e-4;
Result<TardinessBound> tardiness_bound(const Platform& platform, const JobTable& jobs, const TardinessOptions& options);

}  // namespace smartmig
