// What happened. The journal is the sequence of these, in a total order; Cluster is a fold over it. Admitted actions
// appear as the events they cause (kStarted, kStopped, kReshapeAsked), so one kind of record serves output, replay and
// recovery. The named functions below make events. The simulator's loop copies them: keep the type small.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "base/units.h"
#include "mig/layout.h"

namespace smartmig {

enum class EventKind : std::uint8_t {
  kSubmitted,     // job; a job withdrawn before it ran may be submitted again
  kFinished,      // job
  kStarted,       // job on gpu, where
  kStopped,       // job leaves its slice and keeps its progress
  kReshapeAsked,  // gpu should become `layout`; its other slices take no new job
  kDestroyed,     // gpu lost the idle placements of `layout`
  kCreated,       // gpu gained the placements of `layout`
  // Live worlds only; a simulation never emits these.
  kWithdrawn,  // job leaves unfinished: cancelled, failed, out of memory, or its GPU is lost
  kOverrun,    // a running job passed its expected finish: half of its run so far is added
  kBlocked,    // gpu takes no new job and no reshape; running jobs continue
  kUnblocked,  // gpu
  // For a world that is older than its Cluster (a restarted daemon, `decide`, `eta`): what a submitted job has done.
  kFoundRunning,  // job runs on gpu, where; `left` to go by the job table
  kFoundWaiting,  // job waits and has progress: `left` to go on a slice like `where` of gpu, which may not exist
};
inline constexpr std::size_t kEventKinds = 13;

struct Event {
  Time at{};
  EventKind kind = EventKind::kSubmitted;
  PlacementId where = kNoPlacement;
  JobId job = kNoJob;
  GpuId gpu = kNoGpu;
  Layout layout{};
  Time left{};

  static Event submitted(Time at, JobId job) { return of_job(at, EventKind::kSubmitted, job); }
  static Event finished(Time at, JobId job) { return of_job(at, EventKind::kFinished, job); }
  static Event started(Time at, JobId job, GpuId gpu, PlacementId where) {
    return {at, EventKind::kStarted, where, job, gpu, {}, {}};
  }
  static Event stopped(Time at, JobId job) { return of_job(at, EventKind::kStopped, job); }
  static Event reshape_asked(Time at, GpuId gpu, Layout to) { return of_gpu(at, EventKind::kReshapeAsked, gpu, to); }
  static Event destroyed(Time at, GpuId gpu, Layout what) { return of_gpu(at, EventKind::kDestroyed, gpu, what); }
  static Event created(Time at, GpuId gpu, Layout what) { return of_gpu(at, EventKind::kCreated, gpu, what); }
  static Event withdrawn(Time at, JobId job) { return of_job(at, EventKind::kWithdrawn, job); }
  static Event overrun(Time at, JobId job) { return of_job(at, EventKind::kOverrun, job); }
  static Event blocked(Time at, GpuId gpu) { return of_gpu(at, EventKind::kBlocked, gpu, {}); }
  static Event unblocked(Time at, GpuId gpu) { return of_gpu(at, EventKind::kUnblocked, gpu, {}); }
  static Event found_running(Time at, JobId job, GpuId gpu, PlacementId where, Time left) {
    return {at, EventKind::kFoundRunning, where, job, gpu, {}, left};
  }
  static Event found_waiting(Time at, JobId job, GpuId gpu, PlacementId where, Time left) {
    return {at, EventKind::kFoundWaiting, where, job, gpu, {}, left};
  }

 private:
  static Event of_job(Time at, EventKind kind, JobId job) { return {at, kind, kNoPlacement, job, kNoGpu, {}, {}}; }
  static Event of_gpu(Time at, EventKind kind, GpuId gpu, Layout layout) {
    return {at, kind, kNoPlacement, kNoJob, gpu, layout, {}};
  }
};
static_assert(sizeof(Event) == 32);

}  // namespace smartmig
