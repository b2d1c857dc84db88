#define SMARTMIG_VECTOR_BYTES 16
#include "research/learn/kernels_body.h"

namespace smartmig {

const Kernels& kernels_v2() {
  static constexpr Kernels table{"x86-64-v2", gemm, tanh_all, tanh_gradient, add, adam};
  return table;
}

}  // namespace smartmig
