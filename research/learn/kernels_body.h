// Only kernels_v2.cc and kernels_v3.cc include this file; they differ in the instruction set. Everything has internal
// linkage and nothing of the standard library is used, so no AVX2 code reaches other files. SMARTMIG_VECTOR_BYTES is
// the width of a register.
#include <cstring>

#include "policy/net/float_math.h"
#include "research/learn/kernels.h"

namespace smartmig {
namespace {

typedef float Vector __attribute__((vector_size(SMARTMIG_VECTOR_BYTES)));
constexpr std::size_t kLanes = SMARTMIG_VECTOR_BYTES / sizeof(float);
constexpr std::size_t kColumns = 2;  // vectors per block of columns

SMARTMIG_KERNEL Vector load(const float* p) {
  Vector v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
SMARTMIG_KERNEL void store(float* p, Vector v) { __builtin_memcpy(p, &v, sizeof v); }

template <std::size_t kRows>
SMARTMIG_KERNEL void block(std::size_t k, const float* a, std::size_t a_row, std::size_t a_column, const float* b,
                           std::size_t b_row, const float* bias, float* c, std::size_t c_row) {
  Vector sum[kRows][kColumns];
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t v = 0; v < kColumns; ++v) sum[r][v] = bias ? load(bias + v * kLanes) : Vector{};
  for (std::size_t i = 0; i < k; ++i) {
    Vector row[kColumns];
    for (std::size_t v = 0; v < kColumns; ++v) row[v] = load(b + i * b_row + v * kLanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const float x = a[r * a_row + i * a_column];
      for (std::size_t v = 0; v < kColumns; ++v) sum[r][v] += x * row[v];
    }
  }
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t v = 0; v < kColumns; ++v) store(c + r * c_row + v * kLanes, sum[r][v]);
}

void gemm(std::size_t m, std::size_t n, std::size_t k, const float* a, std::size_t a_row, std::size_t a_column,
          const float* b, std::size_t b_row, const float* bias, float* c, std::size_t c_row) {
  constexpr std::size_t kRows = 4, kWidth = kLanes * kColumns;
  std::size_t j = 0;
  for (; j + kWidth <= n; j += kWidth) {
    const float* bias_here = bias ? bias + j : nullptr;
    std::size_t i = 0;
    for (; i + kRows <= m; i += kRows)
      block<kRows>(k, a + i * a_row, a_row, a_column, b + j, b_row, bias_here, c + i * c_row + j, c_row);
    for (; i < m; ++i) block<1>(k, a + i * a_row, a_row, a_column, b + j, b_row, bias_here, c + i * c_row + j, c_row);
  }
  for (; j < n; ++j)
    for (std::size_t i = 0; i < m; ++i) {
      float sum = bias ? bias[j] : 0.0f;
      for (std::size_t l = 0; l < k; ++l) sum += a[i * a_row + l * a_column] * b[l * b_row + j];
      c[i * c_row + j] = sum;
    }
}

void tanh_all(float* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) x[i] = tanh_float(x[i]);
}

void tanh_gradient(const float* __restrict y, float* __restrict dy, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) dy[i] *= 1.0f - y[i] * y[i];
}

void add(const float* __restrict x, float* __restrict sum, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) sum[i] += x[i];
}

void adam(const AdamStep& s, const float* __restrict gradient, float* __restrict m, float* __restrict v,
          float* __restrict parameters, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float g = gradient[i] * s.scale;
    m[i] = s.beta1 * m[i] + (1.0f - s.beta1) * g;
    v[i] = s.beta2 * v[i] + (1.0f - s.beta2) * (g * g);
    parameters[i] -= s.rate * (m[i] / s.correction1) / (__builtin_sqrtf(v[i] / s.correction2) + s.epsilon);
  }
}

}  // namespace
}  // namespace smartmig
