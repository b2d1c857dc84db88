// A mixed-integer linear program and the one door to its solver (Cbc over Clp), so that no other file knows which
// solver it is. Minimises. What comes back is for proofs: `bound` is what the solver has proven, `incumbent` the value
// of a feasible point if it found one; bound <= optimum <= incumbent. A limit that is reached is no error, the bound
// then is the least over the open nodes. Infeasible, unbounded and a solver that gives up are errors, each with its own
// sentence.
//
// The solver computes in floating point: its bound is exact up to its tolerances (1e-7 on each row and reduced cost of
// a program whose columns lie in [0, 1] or a few minutes). Callers that promise a bound subtract kMipTolerance of it,
// relative and absolute. Silent, and safe to call from several threads at once. A node limit alone gives the same
// answer on every run; a time limit that strikes does not.
#pragma once
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig {

inline constexpr double kMipTolerance = 1e-6;
inline constexpr double kMipInfinity = std::numeric_limits<double>::infinity();

class MipProblem {
 public:
  // Both return the index of what was added.
  int add_column(double low, double high, double cost, bool integer = false);
  int add_row(double low, double high);
  void add(int row, int column, double coefficient) {
    entry_row_.push_back(row);
    entry_column_.push_back(column);
    entry_value_.push_back(coefficient);
  }
  void set_cost(int column, double cost) { cost_[std::size_t(column)] = cost; }

  int columns() const { return int(cost_.size()); }
  int rows() const { return int(row_low_.size()); }
  std::size_t entries() const { return entry_value_.size(); }

 private:
  friend class MipSolver;
  std::vector<double> low_, high_, cost_, row_low_, row_high_;
  std::vector<int> integers_;
  std::vector<int> entry_row_, entry_column_;  // each pair at most once
  std::vector<double> entry_value_;
};

struct MipLimits {
  double seconds = 60;                          // of wall time for cuts and branching; 0: the bound of the relaxation
  int nodes = std::numeric_limits<int>::max();  // 0: the same
  double relaxation_seconds = 600;              // apart, as without the relaxation there is no bound at all
};

struct MipAnswer {
  double bound = -kMipInfinity;  // proven; minus infinity when the relaxation itself was not solved in time
  double relaxation = -kMipInfinity;
  double incumbent = kMipInfinity;
  std::vector<double> values;  // of the incumbent; empty without one
  bool optimal = false;        // bound and incumbent have met
  int nodes = 0;
  double seconds = 0;
};

// `what` names the program in error sentences: "the tardiness bound".
Result<MipAnswer> solve_mip(const MipProblem& problem, const MipLimits& limits, const std::string& what);

}  // namespace smartmig
