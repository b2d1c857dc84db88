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
