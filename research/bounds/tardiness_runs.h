// The least sum of tardiness of preemptable jobs with release dates on machines of several speeds, enclosed from both
// sides until bound and schedule meet: Q | pmtn, r | sum T for linearised jobs, R | pmtn, r | sum T at their own
// speeds. The lower side is the bound of whole runs (run_master.h), the upper side the best schedule of an order of
// ends (order_schedule.h).
//
//   1. Annealing over priorities (tardiness_search.h) gives an order of ends. The linear program of that order gives a
//      schedule.
//   2. The bound is computed on a grid of time with an edge at every release and at every end of the schedule. The mean
//      ends of its mixtures are a new order, and may give a better schedule. Slots in which prices change most are
//      halved, repeatedly.
//   3. The remaining gap is closed by branching: the job whose ends differ most in its mixture ends by a time t, or not
//      before t. The least bound of the open branches holds for all schedules. Branches that prove the best schedule
//      are closed.
//
// All work is counted, in rounds and branches, so equal input gives equal bytes. Units: minutes, sums over jobs.
#pragma once
#include "research/bounds/order_schedule.h"
#include "research/bounds/run_master.h"

namespace smartmig {

struct RunsOptions {
  int search_steps = 40'000;  // orders tried by annealing
  int grids = 3;              // how often the grid is refined
  int branches = 0;           // at most
  double close = 1e-4;        // bound and schedule have met when they differ by at most this share of the schedule
  double certain = 0;         // tardiness in addition to the jobs'; `close` is a share of the value that includes it
};

struct RunsAnswer {
  double root = 0;                       // proven without branching
  double bound = 0;                      // proven
  double schedule = kMipInfinity;        // found
  double first_schedule = kMipInfinity;  // by annealing alone
  bool solved = false;                   // bound and schedule have met
  int branches = 0;
  std::size_t slots = 0, runs = 0;
  double seconds = 0;
};

// REQUIRES: jobs in order of release, each with a speed above 0 on some machine.
Result<RunsAnswer> solve_tardiness(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
                                   const RunsOptions& options);

}  // namespace smartmig
