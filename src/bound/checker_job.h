// A proven lower bound on what one job alone pays at a certificate's prices, by the formula in checker.h. The possible
// completion times are cut into pieces (the windows from its release on, cut again at the deadline). Each piece gets
// the best phi(lambda) over the tried lambda, and the least piece is the job's bound.
#pragma once
#include <vector>

#include "bound/certificate.h"

namespace smartmig {

class CheckedJob {
 public:
  struct Size {
    std::size_t slice_class;
    std::int64_t work_us;  // > 0
    double charge;         // cost per minute in addition to the price, rounded down, >= 0
  };
  CheckedJob(const Prices& prices, std::size_t classes, double tau);

  // Without sizes, the job takes no time.
  double least_cost(Time submit, Time deadline, const std::vector<Size>& sizes, const OwnRow& own = {});
  // A lower bound on the cost of a minute on any of the sizes from `submit` on.
  double least_price(Time submit, const std::vector<Size>& sizes) const;

 private:
  struct Piece {
    std::size_t window;
    double length;  // minutes, rounded up; infinite in the tail
    double tau;     // the cost of one more minute
    double late;    // the cost of ending at its start, rounded down
    double value;   // the best phi so far
    bool settled;   // whether lambda has been chosen for this piece
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
  OwnRow own_;  // for the present job
};

}  // namespace smartmig
