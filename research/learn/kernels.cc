#include "research/learn/kernels.h"

namespace smartmig {

const Kernels& kernels() {
#if defined(__x86_64__)
  static const bool v3 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  return v3 ? kernels_v3() : kernels_v2();
#else
  return kernels_v2();
#endif
}

}  // namespace smartmig
