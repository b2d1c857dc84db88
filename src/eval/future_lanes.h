// A future as a drawing needs it: which job is on which slice from when to when, how layouts change, what it draws. Made from the
// events that run_future() journaled; what runs at the fork's moment begins there. Pure; any thread.
#pragma once
#include "eval/futures.h"

namespace smartmig {

struct FutureStay {
  std::size_t job = 0;  // index into the fork's jobs
  GpuId gpu = kNoGpu;
  PlacementId where = kNoPlacement;
  Time begin{}, end{};
  bool finished = false;  // false: it is stopped at `end` and continues elsewhere
};

struct FutureLayout {  // a GPU's layout from here on
  Time at{};
  GpuId gpu = kNoGpu;
  Layout layout;
};

struct FuturePower {  // of all boards, by the power model, from here on
  Time at{};
  double watts = 0;
};

struct FutureLanes {
  std::vector<FutureStay> stays;      // by begin
  std::vector<FutureLayout> layouts;  // by time; none for the fork's moment
  std::vector<FuturePower> power;     // by time, from the fork's moment
};
FutureLanes lanes_of(const Fork& fork, const std::vector<Event>& events);

}  // namespace smartmig
