// The bound of whole runs: a lower bound on the sum of tardiness of jobs on machines, with exact times. A run of a job
// says when it is on which class of machines until it ends, and costs its lateness. Choose a run for each job: a
// program with a column for every run, rows "each job has one run", and for every slot between two edges of time "the
// minutes of all runs on class c are at most count(c) * length". Every schedule is a point of it. Column generation
// solves its linear relaxation: the dual values of the capacity rows are prices of machine-minutes, and priced_run.h
// finds for each job the run that lowers the objective most.
//
// The proof does not rest on the linear solver. For any prices p >= 0, every schedule costs at least
//   L(p) = sum over jobs of (least over runs of lateness + prices paid) - sum over slots and classes of
//          p * count * length,
// since the prices paid in a schedule are at most the second sum (the theorem of docs/bounds.md for given layouts). The
// best L found is the bound. A finer grid of time proves more, and every grid is valid. Unlike the time-indexed program
// (tardiness_mip.h), this has no error of slots, and a run that ends late cannot borrow the end of another. The
// remaining loss is that a job may be a mixture of runs.
//
// Windows for the ends of jobs make it the bound of a branch (tardiness_runs.h). Separation uses prices between the
// best and the last ones (Wentges), which keeps them from oscillating. Pure: counts rounds, not seconds.
#pragma once
#include "research/bounds/priced_run.h"

namespace smartmig {

struct RunMasterLimits {
  double enough = kMipInfinity;  // stop once this much is proven
  double open = 0;               // or once the grid can gain at most this much
  int rounds = 300;
};

struct RunMasterAnswer {
  double bound = 0;         // proven, on the sum of tardiness
  double relaxation = 0;    // the program's value with the present columns; not a bound
  bool infeasible = false;  // no run fits some window
  int rounds = 0;
  std::vector<double> prices;  // the prices that prove the bound, [slot][class]
  std::vector<double> end;     // by job: mean over its mixture of runs
  std::vector<double> spread;  // mean distance from that mean
};

class RunMaster {
 public:
  RunMaster(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines)
      : jobs_(jobs), machines_(machines) {}

  void set_edges(std::vector<double> edges) { edges_ = std::move(edges); }
  const std::vector<double>& edges() const { return edges_; }
  // Adds an initial run. REQUIRES: the job can make it.
  void add_run(std::size_t job, WholeRun run) { pool_.push_back({job, std::move(run)}); }
  std::size_t runs() const { return pool_.size(); }
  // `prices_to_try`: [slot][class], possibly good prices, or empty.
  Result<RunMasterAnswer> solve(const std::vector<EndWindow>& windows, const RunMasterLimits& limits,
                                const std::vector<double>& prices_to_try = {});

 private:
  struct Column {
    std::size_t job;
    WholeRun run;
  };
  class Solve;

  const std::vector<LateJob>& jobs_;
  const std::vector<Machines>& machines_;
  std::vector<double> edges_;
  std::vector<Column> pool_;
};

}  // namespace smartmig
