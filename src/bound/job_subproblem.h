// Finds exactly the cheapest way to run one job alone at given prices. The job may run on one slice at a time, stop and
// change size freely. On class k it pays price_k(window) + charge_k per minute and makes 1/work_k of progress per
// minute. It pays the tardiness weight per minute of its completion beyond the deadline.
//
// For a completion time C the work is a continuous knapsack: each window offers the lower convex hull of the points
// (speed 0, cost 0), (1/work_k, price_k); the segments of all windows up to C, cheapest per progress first, are filled
// until progress is 1. As C sweeps forward, later windows only displace more expensive segments, so a heap of the
// accepted ones (most expensive on top) suffices. Inside a window the total is convex in C. Its stationary point is
// where the marginal price of progress is min_k work_k (price_k + charge_k + tardiness weight); see docs/bounds.md.
#pragma once
#include <vector>

#include "bound/lagrangian_problem.h"
#include "bound/own_prices.h"
#include "bound/windows.h"

namespace smartmig {

class JobSubproblem {
 public:
  JobSubproblem(const BoundProblem& problem, const Windows& windows);

  std::uint64_t pieces() const { return count_; }  // pieces examined so far: a clock independent of the machine

  // `prices`: [window, tail last][class]. `least`: [class], below every price. Returns the job's least cost.
  double solve(const BoundProblem::Job& job, std::size_t first_window, const double* prices, const double* least,
               const OwnRow& own = {});
  double end() const;  // of the last run found, in minutes
  // Adds the minutes of the last run found to `demand`, [window][class] (without the tail), and to `own_demand`, laid
  // out as the own prices of that solve.
  void add_demand(double* demand, double* own_demand = nullptr) const;

 private:
  struct Segment {
    double slope, width;
    int from, to;  // indices of options; from -1: not running
  };
  struct Accepted {
    double slope, width;
    bool operator<(const Accepted& other) const { return slope < other.slope; }
  };
  struct Piece {
    std::size_t window;
    double length;
    std::size_t first, last;  // segments
  };
  struct Best {
    double value = std::numeric_limits<double>::infinity();
    double slope = 0;        // marginal price of progress
    std::size_t pieces = 0;  // whole pieces in use
    int option = -1;         // in the next piece: this option ...
    std::size_t window = 0;
    double minutes = 0;  // ... for so long
  };
  void add_hull(const BoundProblem::Option* options, std::uint32_t count, const double* prices, double extra,
                double below);

  const BoundProblem& problem_;
  const Windows& windows_;
  std::size_t classes_;
  std::uint64_t count_ = 0;
  std::vector<double> edges_;
  std::vector<Segment> segments_;
  std::vector<Accepted> heap_;
  std::vector<Piece> pieces_;
  Best best_;  // of the job last solved
  const BoundProblem::Option* options_ = nullptr;
  OwnRow own_;
  double release_ = 0;
};

}  // namespace smartmig
