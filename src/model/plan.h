// What a policy asks for: a diff against the running state. Stops are carried out first, then reshapes, then starts, so
// two jobs trade places by stopping both and starting both. A stop and a start of one job in one plan are a move (same
// size) or a size change.
#pragma once
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "mig/layout.h"

namespace smartmig {

struct Start {
  JobId job;
  GpuId gpu;
  PlacementId where;
};
struct Reshape {
  GpuId gpu;
  Layout to;
};

struct Plan {
  std::vector<JobId> stops;
  std::vector<Reshape> reshapes;
  std::vector<Start> starts;
  Time look_again = kNever;  // a job is held back until then at the latest: the fleet must decide again by then

  void clear() {
    stops.clear();
    reshapes.clear();
    starts.clear();
    look_again = kNever;
  }
  bool empty() const { return stops.empty() && reshapes.empty() && starts.empty(); }
};

}  // namespace smartmig
