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

}  // namespace smartmig
