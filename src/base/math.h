// log and exp made of IEEE operations only, so that every compiler and C library gives the same bits. Relative error
// below 4e-16 * 4 over the range used (tested against the C library); arguments as in the C functions.
#pragma once

namespace smartmig {

double deterministic_log(double x);  // REQUIRES: x > 0 and finite
double deterministic_exp(double x);

// The normal distribution: the share below z, and its inverse. Absolute error below 1e-7.
double normal_share_below(double z);
double normal_quantile(double share);  // REQUIRES: 0 < share < 1

}  // namespace smartmig
