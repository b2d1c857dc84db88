// The time left of a run of unknown length. The length is lognormal: `spread` is the standard deviation of its
// logarithm, and it exceeds the time run so far. The result is kRunQuantiles values of equal weight, so that an
// expectation is a short sum:
//
//   length_i = exp(spread * z_i),  z_i = the quantile of share  b + (1 - b) (2 i + 1) / (2 kRunQuantiles),
//   b = the share of lengths below `done`;  left_i = length_i - done
//
// A run that is longer than all but one of thousands refutes the distribution. The mean time left is then half of the
// time run so far, as in Cluster when a job overruns. Units: medians.
#pragma once
#include <array>

namespace smartmig {

inline constexpr int kRunQuantiles = 7;

struct RunQuantiles {
  double mean = 1;                                  // of the time left, in medians of the whole run
  std::array<double, kRunQuantiles> of_mean = [] {  // ascending, in units of the mean
    std::array<double, kRunQuantiles> ones{};
    ones.fill(1);
    return ones;
  }();
};

RunQuantiles left_of_run(double spread, double done);  // REQUIRES: spread > 0, done >= 0
// The quantile of the time left at `share`, in medians. REQUIRES: 0 < share < 1.
double left_of_run_at(double spread, double done, double share);

}  // namespace smartmig
