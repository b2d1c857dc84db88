// Finds the cheapest way to run one job alone on priced machines: the inner problem of the bound of whole runs
// (run_master.h). Time is cut at edges[0] < ... < edges[S]; a minute on a machine of class c in slot s costs prices[s *
// classes + c] >= 0, and nothing after the last edge. The job makes speeds[c] of its progress a minute, runs on at most
// one machine at a time, may stop and change freely, and pays the minutes by which it ends after its deadline. It must
// end by `latest`; if it ends before `earliest`, it pays as if it ended then. So branching can split the ends of a job
// in two.
//
// For an end C the work is a continuous knapsack: each slot up to C offers the lower convex hull of (0, 0) and the
// points (speed, price), whose segments are filled in order of cost per progress. As C grows, later slots only displace
// more expensive segments, so a heap of those in use suffices. Inside a slot, cut at the deadline, the sum is convex in
// C. Its lowest point is an end of the slot, or the point where one more minute saves what it costs: at a marginal
// price of min over c of (price + 1 if late) / speed. The value is exact up to rounding for every price, so sums of
// such values prove a bound. Units: minutes.
#pragma once
#include <vector>

#include "research/bounds/late_jobs.h"

namespace smartmig {

struct PriceGrid {
  std::vector<double> edges;   // between slots, ascending; edges.front() is not after any release
  std::vector<double> prices;  // [slot][class]
  std::size_t classes = 0;
  std::size_t slots() const { return edges.size() - 1; }
};

struct EndWindow {
  double earliest = 0, latest = kMipInfinity;
};

struct RunPiece {
  double from, to, minutes;  // minutes on one class, evenly spread over [from, to]
  std::size_t machine;       // class
};
struct WholeRun {
  double end = 0,
         value =
             kMipInfinity;  // of the cheapest run: its end, and prices paid + minutes late; infinite if there is no run
  std::vector<RunPiece> pieces;  // what it does before the last edge
};

class PricedRun {
 public:
  explicit PricedRun(const PriceGrid& grid) : grid_(grid) {}
  // REQUIRES: some speed is above 0.
  WholeRun solve(const LateJob& job, const EndWindow& window);

 private:
  struct Segment {
    double slope, width;  // price per progress, progress
    std::size_t slot;
    double from, to;
    int less, more;  // classes: from less to more; -1: from idle
    bool operator<(const Segment& other) const { return slope < other.slope; }
  };
  void add_hull(const LateJob& job, std::size_t slot, double from, double to, double below,
                std::vector<Segment>& out) const;
  double price(std::size_t slot, std::size_t c) const {
    return slot < grid_.slots() ? grid_.prices[slot * grid_.classes + c] : 0;
  }
  void fill(const LateJob& job, WholeRun& run) const;

  const PriceGrid& grid_;
  std::vector<Segment> heap_, fresh_;
};

// Minutes late of an end at `end`, as the window charges them.
inline double lateness(const LateJob& job, const EndWindow& window, double end) {
  return std::max(0.0, std::max(end, window.earliest) - job.deadline);
}

}  // namespace smartmig
