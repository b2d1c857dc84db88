// How much of a board a slice may use, and how much of it its neighbours are taken to use meanwhile. A slice of MIG has its
// share to itself. Soft slices (MPS) may use `overlap` times their share of the SMs, so that from some size on a larger
// one makes nothing faster. It would still keep neighbours away; nobody is given one for that, since those who come after it
// would wait beside SMs that stand idle: where slices overlap, every size is judged as beside a full board, and the belief
// then follows who really runs there (Job::crowding).
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
