// The world: simulated, live or replayed. It emits events and carries out admitted actions.
#pragma once
#include <vector>

#include "model/cluster.h"

namespace smartmig {

class Fleet {
 public:
  virtual ~Fleet() = default;
  // Gives the next event, after which a decision is due; a simulated fleet jumps to it. False: nothing more will
  // happen, or in a live fleet nothing has happened yet.
  virtual bool next(const Cluster& cluster, Event& event) = 0;
  // For a fleet that jumps in time: next() reports nothing that happens after `instant`, and keeps it for later. A live
  // fleet ignores this.
  virtual void stop_before(Time) {}
  // Gives another event that belongs to the same decision as `event`, the last one reported. Jobs that arrive at one
  // instant belong together, so that a policy sees a batch whole before its first job takes a slice. Known completions
  // do too, so that a policy stops none of those jobs.
  virtual bool also_happens(const Cluster&, Event& event) { return (void)event, false; }
  // Begins an admitted action that the cluster has already applied (kStarted, kStopped, kReshapeAsked). Returns at
  // once. A later next() reports what takes time; what takes none is appended to `at_once`.
  virtual void begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) = 0;
};

}  // namespace smartmig
