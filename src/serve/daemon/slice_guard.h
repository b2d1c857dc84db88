// The last look before processes get a slice: is anybody else alive there? It asks who runs attempts and what the GPU
// shows, never the belief or the store, which may be wrong. Where somebody is, the start is refused, the slice goes out of
// service until nobody is there, and the rest of the GPU works on.
//
//   - the runner tells of attempts by their supervisors, cgroups and tokens (JobRunner::others_on);
//   - the GPU lists its processes: of no attempt of ours, too, but for a job's own. Soft slices (MPS) share a board and
//     its list by design: there the runner alone is asked.
// A list that cannot be had is no evidence; the runner's answer stands. Thread rule: the owner's.
#pragma once
#include <set>

#include "live/jobs/runner.h"
#include "serve/daemon/figures.h"
#include "serve/daemon/slice_quarantine.h"

namespace smartmig {

class SliceGuard {
 public:
  SliceGuard(JobRunner& runner, Boards& boards, SliceQuarantine& quarantine, Counts& counts)
      : runner_(runner), boards_(boards), quarantine_(quarantine), counts_(counts) {}

  // Who is alive on this slice besides the attempt that is to start there, in words; empty: nobody.
  std::string others_on(SliceKey slice, AttemptId mine) const;
  // The same for an attempt whose own processes are there already, and stopped.
  std::string others_beside(SliceKey slice, AttemptId mine) const;
  void refused(SliceKey slice, const std::string& others);  // REQUIRES: the belief has nobody there any more
  void look(int gpu);  // after a sample of this GPU: slices that were left since return to service

 private:
  std::string words_of(SliceKey slice, AttemptId mine, bool has_processes) const;

  JobRunner& runner_;
  Boards& boards_;
  SliceQuarantine& quarantine_;
  Counts& counts_;
  std::set<SliceKey> out_;
};

}  // namespace smartmig
