// How many cases a test with random or repeated cases runs: `base` of them, times SMARTMIG_PROPERTY_CASES. `./test --soak`
// asks for fifty times as many; with sanitizers, where a case takes ten times as long, ./test asks for a quarter of what
// the release build runs.
#pragma once
#include <algorithm>
#include <cstdlib>

namespace smartmig {

inline int cases(int base) {
  const char* factor = std::getenv("SMARTMIG_PROPERTY_CASES");
  const double by = factor ? std::atof(factor) : 1;
  return std::max(1, int(base * (by > 0 ? by : 1)));
}

}  // namespace smartmig
