// Means and 95 % intervals of paired days. An interval is Student's t on the daily differences.
#pragma once
#include <span>
#include <vector>

namespace smartmig {

double mean_of(std::span<const double> values);
double deviation_of(std::span<const double> values);  // sample standard deviation; 0 for fewer than two

double median_of(std::vector<double> values);  // REQUIRES: not empty

struct Difference {
  double mean = 0;        // of x - base
  double half_width = 0;  // 95 %: mean +- half_width; infinite for one day
  double percent = 0;     // mean / mean of base * 100
  double percent_half_width = 0;
};
Difference paired_difference(std::span<const double> x,
                             std::span<const double> base);  // REQUIRES: equal sizes, not empty

double student_t975(std::size_t degrees_of_freedom);

}  // namespace smartmig
