// A proven lower bound on what one job pays for an uninterrupted run at a certificate's prices: the least over its
// sizes and starts of lateness + charge + prices over the run. The cost is linear in the start between the instants
// where the start or end meets an edge of a window, or the end meets the deadline. All of these are whole microseconds,
// and all are tried. Prices are rounded down once to a fixed unit and summed in integers, so the difference of two sums
// is exact however long the day. All else is rounded outward as in checker.h.
#pragma once
#include <vector>

#include "bound/checker_job.h"

namespace smartmig {

class CheckedRun {
 public:
  CheckedRun(const Prices& prices, std::size_t classes, double tau);

  // REQUIRES: at least one size, each with work.
  double least_cost(Time submit, Time deadline, const std::vector<CheckedJob::Size>& sizes, const OwnRow& own = {});

 private:
  __extension__ using Sum = __int128;
  Sum paid(std::size_t window, std::size_t slice_class, std::int64_t at) const {
    return paid_[window * classes_ + slice_class] +
           Sum(units_[window * classes_ + slice_class]) * (at - prices_.windows.edges[window]);
  }

  std::int64_t in_units(double price) const;
  Sum own_paid(std::size_t window, std::int64_t at) const;

  const Prices& prices_;
  std::size_t classes_;
  double tau_;
  int scale_ = 0;                    // prices are counted in 2^-scale
  std::vector<std::int64_t> units_;  // [window][class]: the price, rounded down
  std::vector<Sum> paid_;            // [edge][class]: units times microseconds from time 0 to the edge
  OwnRow own_;                       // for the present job
  std::vector<Sum> own_paid_;        // up to the edges of its windows
};

}  // namespace smartmig
