// What happened. The journal is the sequence of these, in a total order; Cluster is a fold over it. Admitted actions
// appear as the events they cause (kStarted, kStopped, kReshapeAsked), so one kind of record serves output, replay and
// recovery.
#pragma once
#include <cstdint>

#include "base/ids.h"
#include "base/units.h"
#include "mig/layout.h"

namespace smartmig {

enum class EventKind : std::uint8_t {
  kSubmitted,     // job
  kFinished,      // job
  kStarted,       // job on gpu, where
  kStopped,       // job leaves its slice and keeps its progress
  kReshapeAsked,  // gpu should become `layout`; slices outside it take no new job
  kDestroyed,     // gpu lost the idle placements of `layout`
  kCreated,       // gpu gained the placements of `layout`
  // Live worlds only: what a simulation never meets.
  kWithdrawn,  // job leaves without having finished: cancelled, failed, out of memory, its GPU lost
  kOverrun,    // a running job has passed its expected finish: half of what it has run is added
  kBlocked,    // gpu takes no new job and no reshape; what runs there runs on
  kUnblocked,  // gpu
};

struct Event {
  Time at{};
  EventKind kind = EventKind::kSubmitted;
  PlacementId where = kNoPlacement;
  JobId job = kNoJob;
  GpuId gpu = kNoGpu;
  Layout layout{};
};

}  // namespace smartmig
