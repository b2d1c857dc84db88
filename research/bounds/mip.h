// A mixed-integer linear program and the only access to its solver (Cbc over Clp), so that no other file depends on the
// solver. Minimises. The answer serves proofs: `bound` is what the solver has proven, `incumbent` the value of a
// feasible point if it found one; bound <= optimum <= incumbent. A reached limit is no error; the bound is then the
// least over the open nodes. An infeasible or unbounded program and a solver that gives up are errors, each with its
// own sentence.
//
// The solver computes in floating point. Its bound is exact up to its tolerances (1e-7 on each row and reduced cost of
// a program whose columns lie in [0, 1] or a few minutes). Callers that promise a bound subtract kMipTolerance,
// relative and absolute. Silent, and safe to call from several threads at once. A node limit alone gives the same
// answer on every run; a time limit that takes effect does not.
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
  // Both return the index of the new item.
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
  double seconds = 60;                          // wall time for cuts and branching; 0: the bound of the relaxation
  int nodes = std::numeric_limits<int>::max();  // 0: as above
  double relaxation_seconds = 600;              // separate, since there is no bound without the relaxation
};

struct MipAnswer {
  double bound = -kMipInfinity;  // proven; minus infinity if the relaxation was not solved in time
  double relaxation = -kMipInfinity;
  double incumbent = kMipInfinity;
  std::vector<double> values;  // the incumbent's; empty without one
  bool optimal = false;        // bound and incumbent have met
  int nodes = 0;
  double seconds = 0;
};

// `what` names the program in error sentences: "the tardiness bound".
Result<MipAnswer> solve_mip(const MipProblem& problem, const MipLimits& limits, const std::string& what);

}  // namespace smartmig
