// The last look before processes get a slice: is anybody else alive there? It asks what runs attempts and what the GPU
// showed last, never the belief or the store, which may be wrong. If somebody is alive, the start is refused, the slice
// goes out of service until nobody is there, and the rest of the GPU works on.
//
// | who is there | the slice |
// |---|---|
// | an attempt: supervisor, cgroup or token (JobRunner::others_on), or a listed process with its token | out of service |
// | a process of no attempt | checked again for some samples (it may be about to end), then out of service |
// | a monitor of NVIDIA's that holds a context | starts jobs |
//
// The list of processes is the newest that the GPU gave. A start waits for one that was asked for after it was stored
// (attempts.h), on a thread of its own (Boards::look): the owner never waits for a driver here. Processes of the list
// that have ended since do not count, so a slice passes from job to job at once. Soft slices (MPS) share a board and its
// list by design: there the runner alone is asked. A GPU that could list its processes and does not starts nothing; where
// the driver never lists them for this daemon, the runner's evidence is all there is. Thread rule: the owner's.
#pragma once
#include <map>

#include "live/jobs/runner.h"
#include "queue/answers/figures.h"
#include "serve/gpus/slice_quarantine.h"

namespace smartmig {

class SliceGuard {
 public:
  static constexpr Time kLookAgain{500'000};  // samples, while somebody unknown is on a slice
  static constexpr int kLooks = 10;           // after which the slice is out of service

  struct Others {
    std::string words;  // empty: nobody
    bool attempt = false;
    explicit operator bool() const { return !words.empty(); }
  };

  SliceGuard(JobRunner& runner, Boards& boards, SliceQuarantine& quarantine, Counts& counts)
      : runner_(runner), boards_(boards), quarantine_(quarantine), counts_(counts) {}

  // Who is alive on this slice besides the attempt that is to start there.
  Others others_on(SliceKey slice, AttemptId mine) const;
  // The same for an attempt whose own processes are there already, and stopped.
  Others others_beside(SliceKey slice, AttemptId mine) const;
  // Why this GPU does not say who is on it, in words, although it could; empty: it says so, or never does.
  std::string silence(int gpu) const;
  void refused(SliceKey slice, const Others& others);  // REQUIRES: the belief has nobody there any more
  void look(int gpu);     // after a sample of this GPU: slices that were left since return to service
  bool in_doubt() const;  // somebody unknown is looked at again

 private:
  Others find(SliceKey slice, AttemptId mine, bool has_processes) const;

  JobRunner& runner_;
  Boards& boards_;
  SliceQuarantine& quarantine_;
  Counts& counts_;
  std::map<SliceKey, int> out_;  // looks that are left until it counts as taken; 0: it does
};

}  // namespace smartmig
