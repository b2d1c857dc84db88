// A proven lower bound on what one job pays alone at a certificate's prices, by the formula at the head of checker.h:
// the possible completion times are cut into pieces (the windows from its release on, cut once more at the deadline),
// each piece gets the best phi(lambda) over the numbers lambda tried, and the least of the pieces is the job's.
#pragma once
#include <vector>

#include "bound/certificate.h"

namespace smartmig {

class CheckedJob {
 public:
  struct Size {
    std::size_t slice_class;
    std::int64_t work_us;  // > 0
    double charge;         // cost per minute beside the price, rounded down, >= 0
  };
  CheckedJob(const Prices& prices, std::size_t classes, double tau);

  // No sizes: the job takes no time.
  double least_cost(Time submit, Time deadline, const std::vector<Size>& sizes, const OwnRow& own = {});
  // Below what a minute on any of the sizes costs from `submit` on.
  double least_price(Time submit, const std::vector<Size>& sizes) const;

 private:
  struct Piece {
    std::size_t window;
    double length;  // minutes, rounded up; infinite in the tail
    double tau;     // what a minute more costs
    double late;    // what ending at its start costs, rounded down
    double value;   // the best phi so far
    bool settled;   // lambda was chosen for this piece
  };
  struct Speed {
    std::size_t slice_class;
    double per_minute, charge;  // progress, rounded up
  };
  double gain(std::size_t window, double lambda) const;  // v, rounded up
  double ending(std::int64_t at, Time deadline) const;   // lateness and end price, rounded down
  void cut(Time submit, Time deadline, double enough, double least_fill, double& rest);
  double best_lambda(std::size_t piece, double enough) const;
  void try_lambda(double lambda);

  const Prices& prices_;
  std::size_t classes_;
  double tau_;
  std::vector<double> least_after_;  // [window][class]: least price from then on
  std::vector<Piece> pieces_;
  std::vector<Speed> speeds_;
  OwnRow own_;  // of the job at hand
};

}  // namespace smartmig
