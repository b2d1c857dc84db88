// The slices that could run a waiting job, and their state: free, busy, being created, out of service, on a GPU that
// accepts no jobs, or reserved for others. Pure, for why.cc.
#pragma once
#include "queue/answers/why.h"

namespace smartmig {

struct WhyFit {
  bool exists = false;              // some slice type of the fleet takes it
  bool on_unblocked = false;        // of a GPU that takes work
  bool on_open = false;             // of one of these that no reservation keeps from it
  bool coming = false;              // a slice for it is being made, or will be
  Time coming_from = kNever;        // when the last of what is in its way is expected to end; now: nothing is
  std::string coming_after;         // that job
  GpuId coming_on = kNoGpu;         // on which GPU
  int slices = 0, free_slices = 0;  // that exist and take it
  Time first_idle = kNever;         // earliest expected finish on one of them
  std::string reread;               // of GPUs that take no work until they are reread, in words
  std::vector<GpuId> gpus;          // that could hold it
  std::string quarantined;          // slices of these GPUs that are out of service, in words
  int largest_mib = 0, largest_slices = 0;
};

WhyFit look_for_place(const WhyInput& in);
// When it would end at the earliest on a slice that is there and idle; kNever: there is none.
Time soonest_on_free(const WhyInput& in);
std::vector<Blocker> blockers(const WhyInput& in);
std::string slice_words(const Cluster& cluster, GpuId gpu, PlacementId where);  // "3g.20gb@4 of GPU 1"

}  // namespace smartmig
