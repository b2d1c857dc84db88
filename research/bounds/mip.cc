#include "research/bounds/mip.h"

#include <algorithm>
#include <chrono>
#include <coin/CbcHeuristic.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CglGomory.hpp>
#include <coin/CglMixedIntegerRounding2.hpp>
#include <coin/CglProbing.hpp>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinError.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>

#include "base/errors.h"

namespace smartmig {

int MipProblem::add_column(double low, double high, double cost, bool integer) {
  low_.push_back(low);
  high_.push_back(high);
  cost_.push_back(cost);
  if (integer) integers_.push_back(columns() - 1);
  return columns() - 1;
}

int MipProblem::add_row(double low, double high) {
  row_low_.push_back(low);
  row_high_.push_back(high);
  return rows() - 1;
}

class MipSolver {
 public:
  MipSolver(const MipProblem& problem, const MipLimits& limits, const std::string& what)
      : problem_(problem), limits_(limits), what_(what) {}

  Result<MipAnswer> solve() {
    for (int i = 0; i < problem_.columns(); ++i)
      if (problem_.low_[std::size_t(i)] > problem_.high_[std::size_t(i)]) return infeasible();
    load();
    if (limits_.relaxation_seconds <= 0) return finish();
    clp_.getModelPtr()->setMaximumWallSeconds(limits_.relaxation_seconds);
    clp_.initialSolve();
    if (clp_.isProvenPrimalInfeasible()) return infeasible();
    if (clp_.isProvenDualInfeasible()) return invalid("{} is unbounded: its objective falls without end", what_);
    if (!clp_.isProvenOptimal()) {
      if (elapsed() >= limits_.relaxation_seconds) return finish();
      return lost_error("the solver gave up on the linear relaxation of {} ({} rows, {} columns)", what_,
                        problem_.rows(), problem_.columns());
    }
    answer_.relaxation = answer_.bound = clp_.getObjValue();
    if (problem_.integers_.empty()) {
      answer_.incumbent = answer_.bound;
      answer_.values.assign(clp_.getColSolution(), clp_.getColSolution() + problem_.columns());
      answer_.optimal = true;
      return finish();
    }
    clp_.getModelPtr()->setMaximumWallSeconds(-1);
    return branch();
  }

 private:
  Error infeasible() const {
    return invalid("{} is infeasible: no point satisfies its {} rows", what_, problem_.rows());
  }

  void load() {
    clp_.messageHandler()->setLogLevel(0);
    clp_.getModelPtr()->messageHandler()->setLogLevel(0);
    clp_.setHintParam(OsiDoReducePrint, true, OsiHintTry);
    CoinPackedMatrix matrix(true, problem_.entry_row_.data(), problem_.entry_column_.data(),
                            problem_.entry_value_.data(), CoinBigIndex(problem_.entries()));
    matrix.setDimensions(problem_.rows(), problem_.columns());
    const auto coin = [](std::vector<double> values) {  // the solver's infinity is DBL_MAX
      for (double& v : values) v = std::clamp(v, -COIN_DBL_MAX, COIN_DBL_MAX);
      return values;
    };
    const auto low = coin(problem_.low_), high = coin(problem_.high_), row_low = coin(problem_.row_low_),
               row_high = coin(problem_.row_high_);
    clp_.loadProblem(matrix, low.data(), high.data(), problem_.cost_.data(), row_low.data(), row_high.data());
    for (const int i : problem_.integers_) clp_.setInteger(i);
  }

  Result<MipAnswer> branch() {
    if (limits_.seconds <= 0 || limits_.nodes <= 0) return finish();
    CbcModel model(clp_);
    model.setLogLevel(0);
    model.messageHandler()->setLogLevel(0);
    model.solver()->messageHandler()->setLogLevel(0);
    model.setUseElapsedTime(true);
    model.setMaximumSeconds(limits_.seconds);
    model.setMaximumNodes(limits_.nodes);
    model.setIntegerTolerance(1e-7);
    model.setCutoffIncrement(1e-7);
    model.setAllowableGap(1e-7);
    CglProbing probing;
    probing.setMaxPass(1);
    probing.setMaxProbe(10);
    CglGomory gomory;
    CglMixedIntegerRounding2 rounding;
    model.addCutGenerator(&probing, -1, "probing");
    model.addCutGenerator(&gomory, -98, "gomory");
    model.addCutGenerator(&rounding, -98, "rounding");
    CbcRounding round(model);
    model.addHeuristic(&round);
    model.branchAndBound();
    answer_.nodes = model.getNodeCount();
    if (model.isProvenInfeasible()) return infeasible();
    if (model.status() == 2 || model.isAbandoned())
      return lost_error("the solver gave up on {} after {} nodes", what_, answer_.nodes);
    answer_.bound = std::max(answer_.bound, model.getBestPossibleObjValue());
    if (const double* best = model.bestSolution()) {
      answer_.incumbent = model.getObjValue();
      answer_.values.assign(best, best + problem_.columns());
      answer_.bound = std::min(answer_.bound, answer_.incumbent);
    }
    answer_.optimal = model.isProvenOptimal();
    return finish();
  }

  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  MipAnswer finish() {
    answer_.seconds = elapsed();
    return std::move(answer_);
  }

  const MipProblem& problem_;
  const MipLimits& limits_;
  const std::string& what_;
  OsiClpSolverInterface clp_;
  MipAnswer answer_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

Result<MipAnswer> solve_mip(const MipProblem& problem, const MipLimits& limits, const std::string& what) {
  try {
    return MipSolver(problem, limits, what).solve();
  } catch (const CoinError& error) {
    return lost_error("the solver failed on {}: {} in {}", what, error.message(), error.methodName());
  }
}

}  // namespace smartmig
