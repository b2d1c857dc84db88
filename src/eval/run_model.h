// Predicts a command's next run from its runs so far: a Gaussian model of the logarithm of its seconds.
//
//   log s = scale + curve(share of the GPU) + own deviation from that curve + numbers on its command line
//           + neighbours (soft slices) + change of its program + noise
//
//   scale       any value; that of a similar command lies within `apart` of the asked one's
//   curve       one of a CurveSet, each weighted by how well it explains the runs. A run on one size moves all sizes
//               together and leaves the curve open; a second size nearly settles it
//   deviation   no curve fits the command exactly: 0.08 at each size, similar at nearby sizes
//   numbers     a slope for each (`--steps 300`), and an offset for each set of numbers. Their weight is the one of a
//               few values that explains the runs best. Without evidence, a slope is more likely up than down
//   neighbours  a factor that grows with the share of the board that others use: 0.5 in the logarithm for all of it,
//               within 0.3, from six kinds next to up to thirteen others on an H200 (docs/learning-jobs.md)
//   change      0.5 if the program has changed between two runs
//   noise       chosen like the weight of numbers; larger for old runs, and for one far from similar ones
// Everything except the curve is Gaussian, so one factorisation serves all curves. Pure, deterministic.
// Units: natural logarithms of seconds. O(runs^3 + curves * runs^2).
#pragma once
#include <span>
#include <vector>

#include "eval/size_curves.h"
#include "model/job.h"

namespace smartmig {

inline constexpr std::size_t kRunNumbers = 4;
using RunNumbers = std::array<double, kRunNumbers>;  // logarithms; 0: no number

struct RunPlace {
  double log_share = 0;  // share of the GPU's compute
  double load = 0;       // share of the board that others use, on soft slices; 0..2
  RunNumbers numbers{};
};

struct SeenRun {
  RunPlace place;
  double log_s = 0;
  double launch_share = -1;  // least share of its seconds; negative: unknown
  int epoch = 0;             // version of its program
  int command = 0;           // 0: the asked command
  double apart = 0;          // another command: how far its scale may be from the asked one's, as a standard deviation
  double age = 1;            // factor of the noise variance
};

struct TimeBelief {
  double log_s = 0;  // mean
  double sd = 0;     // uncertainty of that mean
  double noise = 0;  // of a single run around the mean
};

class RunModel {
 public:
  // `epoch`: the program's present version. `numbers`: whether the numbers of the runs and of the asked one have the
  // same meaning; if not (commands that are not very similar), they are ignored. REQUIRES: at least one run.
  RunModel(std::vector<SeenRun> runs, const CurveSet& curves, int epoch, bool numbers = true);

  TimeBelief at(const RunPlace& place) const;
  // Covariances of the uncertainty at these places, row by row.
  std::vector<double> doubts(std::span<const RunPlace> places) const;
  double slowdown(const RunPlace& place) const;  // log of the factor there of a board full of others against none
  double launch_share() const;                   // of the time on the whole GPU
  WeightedCurve curve() const;                   // posterior mean, without neighbours and numbers

 private:
  struct Spread {  // standard deviations
    double noise, numbers, variant;
  };
  struct Kept {
    WeightedCurve curve;
    double weight;
    std::vector<double> at_runs;  // the curve at the runs
  };
  double shared(const SeenRun& a, const SeenRun& b, const Spread& spread, double deviation) const;  // covariance
  std::vector<double> factor(const Spread& spread, double deviation) const;
  void solve(const std::vector<double>& lower, std::vector<double>& x) const;       // solves L x' = x
  void solve_back(const std::vector<double>& lower, std::vector<double>& x) const;  // solves L^T x' = x
  Spread best_spread() const;
  double expected_of(const RunNumbers& numbers, double spread) const;
  void widen_odd_runs();
  void weigh(const CurveSet& curves);
  std::vector<double> weights_for(const SeenRun& asked, std::vector<double>& half) const;

  std::vector<SeenRun> runs_;  // log_s minus centre_
  double centre_ = 0;
  int epoch_;
  bool numbers_;
  Spread spread_{};
  std::vector<double> lower_;  // Cholesky factor, row by row
  std::vector<Kept> kept_;     // curves with non-negligible weight
};

}  // namespace smartmig
