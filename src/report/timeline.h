// What happened when, in the form that charts, traces and tables need: which job ran where from when to when, and the
// steps of power and queue. One pass over the journal makes it. Watts hold from their step until the next.
#pragma once
#include <cstdint>
#include <vector>

#include "report/run_record.h"

namespace smartmig {

struct JobRun {  // one stay of a job on a slice
  JobId job;
  GpuId gpu;
  PlacementId where;
  Time begin{}, end{};
  enum End : std::uint8_t { kFinished, kStopped, kOpen, kWithdrawn } how = kOpen;
};

struct GpuStep {
  Time at{};
  GpuId gpu;
  double watts = 0;
};

struct FleetStep {  // at most one per instant: the state after all its events
  Time at{};
  double watts = 0;
  double joules = 0;  // consumed until `at`
  std::uint32_t queued = 0, running = 0, busy_gpus = 0;
  char type = 'p';  // the last change: job start 's', job end 'e', partition change or arrival 'p'
};

struct LayoutStep {
  Time at{};
  EventKind kind;  // kReshapeAsked, kDestroyed or kCreated
  GpuId gpu;
  Layout changed;  // the event's
  Layout layout;   // layout after the event
};

struct Timeline {
  std::vector<JobRun> runs;         // by begin, then by journal order
  std::vector<GpuStep> gpus;        // by time; each GPU has one at 0
  std::vector<FleetStep> fleet;     // by time; the first is at 0
  std::vector<LayoutStep> layouts;  // by time
  Time end{};
  double idle_watts = 0;  // of the whole fleet
};

Timeline timeline_of(const RunRecord& run);  // REQUIRES: run.events

// A GPU's compute-slice axis has memory_slices units. The fleet's units are numbered GPU after GPU.
std::vector<std::uint32_t> first_units(const Platform& platform);

}  // namespace smartmig
