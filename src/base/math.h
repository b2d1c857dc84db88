// log and exp from IEEE operations only, so every compiler and C library gives the same bits. The relative error is
// below 4e-16 * 4 over the range used (tested against the C library). Arguments are as in the C functions.
#pragma once

namespace smartmig {

double deterministic_log(double x);  // REQUIRES: x > 0 and finite
double deterministic_exp(double x);

// The normal distribution: the share below z, and its inverse. The absolute error is below 1e-7.
double normal_share_below(double z);
double normal_quantile(double share);  // REQUIRES: 0 < share < 1

}  // namespace smartmig
