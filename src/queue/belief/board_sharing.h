// How much of a board a slice may use, and how much its neighbours are assumed to use at the same time. A slice of MIG
// has its share to itself. Soft slices (MPS) may use `overlap` times their share of the SMs, so above some size a
// larger slice is not faster. It would only keep neighbours away, and later jobs would wait while SMs are idle.
// Therefore, where slices overlap, every size is judged as if the board were full, and the belief then follows which
// jobs really run there (Job::crowding).
#pragma once
#include <algorithm>

namespace smartmig {

struct BoardSharing {
  bool soft = false;
  double overlap = 1;  // of soft slices; at least 1

  bool crowds() const { return soft && overlap > 1; }  // neighbours use the same SMs
  double share(int slices, int of) const { return std::min(1.0, (soft ? overlap : 1) * slices / of); }
  double others(int slices, int of) const {
    if (!soft) return 0;
    return 1 - double(overlap > 1 ? 1 : slices) / of;
  }
};

}  // namespace smartmig
