// Exponential and hyperbolic tangent in single precision from IEEE operations only, in a form that compilers can
// vectorise. Every compiler and vector width gives the same bits (with -ffp-contract=off). The functions are always
// inlined, so a file built for a newer instruction set never provides the copy for the rest of the program. Errors: exp
// below 3e-7 relative for |x| <= 87; tanh below 3e-7 absolute. NaN gives NaN.
#pragma once
#include <bit>
#include <cstdint>

namespace smartmig {

#define SMARTMIG_KERNEL static inline __attribute__((always_inline))

// exp of x clamped to [-87, 88]
SMARTMIG_KERNEL float exp_float(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  const float shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: leaves the rounded whole number in the low bits
  const float k = shifted - 12582912.0f;
  const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;  // ln 2 in two parts, the first exact in few bits
  float series = 1.0f / 5040;
  series = series * r + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = series * r + 1.0f;
  series = series * r + 1.0f;
  const std::uint32_t power = (std::bit_cast<std::uint32_t>(shifted) - 0x4B400000u + 127u) << 23;
  return series * std::bit_cast<float>(power);
}

SMARTMIG_KERNEL float tanh_float(float x) {
  x = x < -9.0f ? -9.0f : x;
  x = x > 9.0f ? 9.0f : x;
  return 1.0f - 2.0f / (exp_float(2.0f * x) + 1.0f);
}

}  // namespace smartmig
