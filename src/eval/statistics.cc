#include "eval/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace smartmig {

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (double v : values) sum += v;
  return values.empty() ? 0 : sum / double(values.size());
}

double deviation_of(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double squares = 0;
  for (double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / double(values.size() - 1));
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double student_t975(std::size_t degrees_of_freedom) {
  static constexpr double kSmall[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
  if (degrees_of_freedom == 0) return HUGE_VAL;
  if (degrees_of_freedom <= 10) return kSmall[degrees_of_freedom - 1];
  // Cornish-Fisher: the error is below 1e-3 from 11 on.
  const double z = 1.959963985, n = double(degrees_of_freedom), z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

Difference paired_difference(std::span<const double> x, std::span<const double> base) {
  std::vector<double> differences(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) differences[i] = x[i] - base[i];
  Difference d;
  d.mean = mean_of(differences);
  d.half_width =
      x.size() < 2 ? HUGE_VAL : student_t975(x.size() - 1) * deviation_of(differences) / std::sqrt(double(x.size()));
  const double scale = std::abs(mean_of(base));
  d.percent = scale > 0 ? 100 * d.mean / scale : 0;
  d.percent_half_width = scale > 0 ? 100 * d.half_width / scale : 0;
  return d;
}

}  // namespace smartmig
