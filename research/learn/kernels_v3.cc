#define SMARTMIG_VECTOR_BYTES 32
#include "research/learn/kernels_body.h"

namespace smartmig {

const Kernels& kernels_v3() {
  static constexpr Kernels table{"x86-64-v3", gemm, tanh_all, tanh_gradient, add, adam};
  return table;
}

}  // namespace smartmig
