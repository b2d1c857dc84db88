// What a command's next run takes, from its runs so far: a Gaussian model of the logarithm of its seconds.
//
//   log s = scale + curve(share of the GPU) + own deviation from that curve + numbers on its command line
//           + neighbours (soft slices) + change of its program + noise
//
//   scale       anything; of another command that looks alike, its own within `apart`
//   curve       one of a CurveSet: each is weighed by how well it explains the runs. A run on one size moves all sizes
//               together and leaves the curve open; a second size nearly settles it
//   deviation   no curve is exactly the command's: 0.08 at each size, alike at near ones
//   numbers     a slope for each (`--steps 300`), and an offset for each set of numbers; how much they matter is chosen
//               by what explains the runs best, from a few values. Until runs say so a slope is more likely up than down
//   neighbours  a factor that grows with the share of the board that others used: 0.5 in the logarithm for all of it,
//               within 0.3, from six kinds beside up to thirteen others on an H200 (docs/learning-jobs.md)
//   change      0.5 where the program has changed between two runs
//   noise       chosen like the weight of numbers; larger for old runs, and for one far off its like
// Everything but the curve is Gaussian, so one factorisation serves all curves. Pure, deterministic.
// Units: natural logarithms of seconds. O(runs^3 + curves * runs^2).
#pragma once
#include <span>
#include <vector>

#include "eval/size_curves.h"
#include "model/job.h"

namespace smartmig {

inline constexpr std::size_t kRunNumbers = 4;
using RunNumbers = std::array<double, kRunNumbers>;  // logarithms; 0 where there is none

struct RunPlace {
  double log_share = 0;  // of the GPU's compute
  double load = 0;       // of the board, by others, on soft slices; 0..2
  RunNumbers numbers{};
};

struct SeenRun {
  RunPlace place;
  double log_s = 0;
  double launch_share = -1;  // of its seconds, at least; negative: not known
  int epoch = 0;             // of its program
  int command = 0;           // 0: the one that is asked about
  double apart = 0;  // of another command: how far its scale may be from the asked one's, in standard deviations of 1
  double age = 1;    // noise variance times this
};

struct TimeBelief {
  double log_s = 0;  // mean
  double sd = 0;     // of that mean: what is not known
  double noise = 0;  // of one run around it
};

class RunModel {
 public:
  // `epoch`: of the program as it is now. `numbers`: those of the runs and of what is asked mean the same; if not, as of
  // commands that are not much alike, they are not looked at. REQUIRES: at least one run.
  RunModel(std::vector<SeenRun> runs, const CurveSet& curves, int epoch, bool numbers = true);

  TimeBelief at(const RunPlace& place) const;
  // Covariances of what is not known of these places, row by row.
  std::vector<double> doubts(std::span<const RunPlace> places) const;
  double slowdown(const RunPlace& place) const;  // there, by a board full of others against none, in the logarithm
  double launch_share() const;                   // of the time on the whole GPU
  WeightedCurve curve() const;                   // posterior mean, without neighbours and numbers

 private:
  struct Spread {  // standard deviations
    double noise, numbers, variant;
  };
  struct Kept {
    WeightedCurve curve;
    double weight;
    std::vector<double> at_runs;  // the curve there
  };
  double shared(const SeenRun& a, const SeenRun& b, const Spread& spread, double deviation) const;  // covariance
  std::vector<double> factor(const Spread& spread, double deviation) const;
  void solve(const std::vector<double>& lower, std::vector<double>& x) const;       // L x' = x
  void solve_back(const std::vector<double>& lower, std::vector<double>& x) const;  // L^T x' = x
  Spread best_spread() const;
  double expected_of(const RunNumbers& numbers, double spread) const;
  void widen_odd_runs();
  void weigh(const CurveSet& curves);
  std::vector<double> weights_for(const SeenRun& asked, std::vector<double>& half) const;

  std::vector<SeenRun> runs_;  // log_s less centre_
  double centre_ = 0;
  int epoch_;
  bool numbers_;
  Spread spread_{};
  std::vector<double> lower_;  // Cholesky factor, row by row
  std::vector<Kept> kept_;     // curves that matter
};

}  // namespace smartmig
