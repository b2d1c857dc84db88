// The world: simulated, live or replayed. It emits events and carries out what was admitted.
#pragma once
#include <vector>

#include "model/cluster.h"

namespace smartmig {

class Fleet {
 public:
  virtual ~Fleet() = default;
  // The next event, after which a decision is due (a simulated fleet jumps to it). False: nothing more will happen, or
  // for a live fleet nothing has happened yet.
  virtual bool next(const Cluster& cluster, Event& event) = 0;
  // Another event that belongs to the same decision as `event`, which was told last: jobs that come at one instant, so
  // that a batch is seen whole before its first job takes a slice; ends that are known, so that none of those is stopped.
  virtual bool also_happens(const Cluster&, Event& event) { return (void)event, false; }
  // Begins an admitted action that the cluster has applied already (kStarted, kStopped, kReshapeAsked). Returns at
  // once; what takes time is reported by a later next(), what takes none is appended to `at_once`.
  virtual void begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) = 0;
};

}  // namespace smartmig
