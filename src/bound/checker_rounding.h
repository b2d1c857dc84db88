// Outward rounding without a change of the rounding mode; checker.h gives the argument. up(x op y) and down(x op y)
// bound the exact result of one IEEE operation on the doubles x and y.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

namespace smartmig {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline double down(double x) { return x - std::fabs(x) * 0x1p-51 - 1e-290; }
inline double up(double x) { return x + std::fabs(x) * 0x1p-51 + 1e-290; }
// Exact in obvious cases: a zero factor gives zero, and equal numbers differ by zero. So a weight of 0 and watts that
// never rise above idle stay 0.
inline double product_down(double x, double y) { return x == 0 || y == 0 ? 0 : down(x * y); }
inline double product_up(double x, double y) { return x == 0 || y == 0 ? 0 : up(x * y); }
inline double difference_down(double x, double y) { return x == y ? 0 : down(x - y); }
inline double minutes_low(std::int64_t us) { return us == 0 ? 0 : down(double(us) / 60e6); }
inline double minutes_high(std::int64_t us) { return us == 0 ? 0 : up(double(us) / 60e6); }

}  // namespace smartmig
