#include "base/math.h"

#include <cmath>

namespace smartmig {
namespace {
constexpr double kLn2High = 6.93147180369123816490e-01;  // upper bits of ln 2, so that k * kLn2High is exact
constexpr double kLn2Low = 1.90821492927058770002e-10;
}  // namespace

double deterministic_log(double x) {
  int exponent;
  double m = std::frexp(x, &exponent);  // m in [0.5, 1)
  if (m < 0.70710678118654752440) {
    m *= 2;
    --exponent;
  }
  // log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.1716
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double series = 0;
  for (int k = 21; k >= 3; k -= 2) series = series * s2 + 1.0 / k;
  const double tail = 2 * s * s2 * series;
  return exponent * kLn2High + (2 * s + (tail + exponent * kLn2Low));
}

double deterministic_exp(double x) {
  if (x > 709.7) return HUGE_VAL;
  if (x < -745.0) return 0;
  const double k = std::floor(x / 0.69314718055994530942 + 0.5);
  const double r = (x - k * kLn2High) - k * kLn2Low;  // |r| <= 0.347
  double series = 1;
  for (int i = 14; i >= 1; --i) series = 1 + series * r / i;
  return std::ldexp(series, int(k));
}

// Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17.
double normal_share_below(double z) {
  const double t = 1 / (1 + 0.2316419 * std::abs(z));
  const double series =
      t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const double above = 0.39894228040143267794 * deterministic_exp(-z * z / 2) * series;
  return z < 0 ? above : 1 - above;
}

// P. J. Acklam's rational approximation.
double normal_quantile(double share) {
  constexpr double kTail = 0.02425;
  if (share > 0.5) return -normal_quantile(1 - share);
  if (share < kTail) {
    const double q = std::sqrt(-2 * deterministic_log(share));
    return (((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e+00) * q -
              2.549732539343734e+00) *
                 q +
             4.374664141464968e+00) *
                q +
            2.938163982698783e+00) /
           ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e+00) * q +
             3.754408661907416e+00) *
                q +
            1);
  }
  const double q = share - 0.5, r = q * q;
  return (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
            1.383577518672690e+02) *
               r -
           3.066479806614716e+01) *
              r +
          2.506628277459239e+00) *
         q /
         (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
            6.680131188771972e+01) *
               r -
           1.328068155288572e+01) *
              r +
          1);
}

}  // namespace smartmig
