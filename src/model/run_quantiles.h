// What is left of a run whose length is not known: the length is lognormal about a median, with `spread` as the standard
// deviation of its logarithm, and it is known to exceed what has run. Given as kRunQuantiles values of equal weight, so
// that an expectation over it is a short sum:
//
//   length_i = exp(spread * z_i),  z_i = the quantile of share  b + (1 - b) (2 i + 1) / (2 kRunQuantiles),
//   b = the share of lengths below `done`;  left_i = length_i - done
//
// A run that is longer than all but one of thousands shows that the distribution is wrong: what is left is then taken to
// be half of what has run in the mean, as Cluster does where a job overruns. Units: medians.
#pragma once
#include <array>

namespace smartmig {

inline constexpr int kRunQuantiles = 7;

struct RunQuantiles {
  double mean = 1;                                  // of what is left, in medians of the whole run
  std::array<double, kRunQuantiles> of_mean = [] {  // ascending, in means
    std::array<double, kRunQuantiles> ones{};
    ones.fill(1);
    return ones;
  }();
};

RunQuantiles left_of_run(double spread, double done);  // REQUIRES: spread > 0, done >= 0
// The same at one share of the cases, in medians. REQUIRES: 0 < share < 1.
double left_of_run_at(double spread, double done, double share);

}  // namespace smartmig
