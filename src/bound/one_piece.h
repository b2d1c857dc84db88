// Finds the cheapest way to run one job alone and uninterrupted at given prices: one class, one start, no stop. The
// cost of a run is linear in its start between the instants at which its start or end meets an edge of a window, or its
// end meets the deadline. So only those instants are tried, in order, until lateness alone costs more than the best
// run.
// This is the solver's side, in floating point; the checker's is checker_run.h.
#pragma once
#include <vector>

#include "bound/lagrangian_problem.h"
#include "bound/own_prices.h"
#include "bound/windows.h"

namespace smartmig {

class OnePieceSubproblem {
 public:
  // `prices`: [window, tail last][class]; keeps a reference.
  OnePieceSubproblem(const BoundProblem& problem, const Windows& windows, const double* prices);

  std::uint64_t pieces() const { return count_; }  // starts examined so far

  // `first_window` contains the release. REQUIRES: the job has options.
  double solve(const BoundProblem::Job& job, std::size_t first_window, const OwnRow& own = {});
  double end() const { return best_.end; }  // of the last run found, in minutes
  // Adds the minutes of the last run found to `demand`, [window][class] (without the tail), and to `own_demand`, laid
  // out as the own prices of that solve.
  void add_demand(double* demand, double* own_demand = nullptr) const;
  // A lower bound on every price plus charge that the job can meet from that window on.
  double least_price(const BoundProblem::Job& job, std::size_t first_window) const;

 private:
  double paid(std::size_t window, std::size_t slice_class, double at) const {
    return paid_[window * classes_ + slice_class] + (at - edges_[window]) * prices_[window * classes_ + slice_class];
  }

  const BoundProblem& problem_;
  const double* prices_;
  std::size_t classes_, windows_;
  std::uint64_t count_ = 0;
  std::vector<double> edges_;        // minutes
  std::vector<double> paid_;         // [edge][class]: for a slice from time 0 to the edge
  std::vector<double> least_after_;  // [window][class]: least price from then on
  double own_paid(std::size_t window, double at) const {
    const std::size_t i = window - own_.first_window;
    if (window < own_.first_window || own_.count == 0) return 0;
    return i >= own_.count ? own_paid_.back() : own_paid_[i] + (at - edges_[window]) * own_.values[i];
  }
  OwnRow own_;
  std::vector<double> own_paid_;  // up to the edges of its windows
  struct {
    double value, start, end;
    std::size_t window, slice_class;
  } best_{};
};

}  // namespace smartmig
