// The dense kernels of the learner: matrix product, tanh and its gradient, Adam. kernels_body.h is built twice, for
// x86-64-v2 and v3 (AVX2); the choice is made at run time. Every sum has one order, whatever the vector width, and
// there is no fused multiply-add, so both builds, any batch and Network's own loop give the same bits. Thread-safe: no
// state.
#pragma once
#include <cstddef>

namespace smartmig {

struct AdamStep {
  float rate, beta1, beta2, epsilon;
  float correction1, correction2;  // 1 - beta^t
  float scale;                     // of the gradient (clipping by norm)
};

struct Kernels {
  const char* name;
  // c[m][n] = bias[n] (or 0) + sum over k, ascending, of a[m][k] * b[k][n]; a is a[m * a_row + k * a_column].
  void (*gemm)(std::size_t m, std::size_t n, std::size_t k, const float* a, std::size_t a_row, std::size_t a_column,
               const float* b, std::size_t b_row, const float* bias, float* c, std::size_t c_row);
  void (*tanh)(float* x, std::size_t n);
  void (*tanh_gradient)(const float* y, float* dy, std::size_t n);  // dy *= 1 - y^2
  void (*add)(const float* x, float* sum, std::size_t n);           // sum += x
  void (*adam)(const AdamStep& step, const float* gradient, float* m, float* v, float* parameters, std::size_t n);
};

const Kernels& kernels_v2();
const Kernels& kernels_v3();
const Kernels& kernels();  // the best that this processor runs

}  // namespace smartmig
