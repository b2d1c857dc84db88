// What an agent does by itself when no controller has spoken for long: takes held jobs that fit its node, the oldest
// first, makes a slice for each in the simplest way, and releases them, so that a cluster without its controller never
// stops. Jobs are shared out among the nodes by their name and the minute, so two agents seldom take the same one;
// where they do, Slurm starts it on one node, and the other gives its slice back at its next look. The joules of a job
// that ends meanwhile go to Slurm's accounts, as a controller would book them. Thread rule: one thread.
#pragma once
#include "cluster/node_agent.h"
#include "slurm/request.h"
#include "slurm/slurm.h"

namespace smartmig {

class Fallback {
 public:
  Fallback(Slurm& slurm, NodeAgent& agent, LiveClock& clock) : slurm_(slurm), agent_(agent), clock_(clock) {}
  Result<std::vector<ClusterJobName>> step();  // the jobs that were released

 private:
  bool is_mine(const SlurmJob& job, const std::vector<SlurmNode>& nodes) const;
  std::vector<SlurmAction> give_back(const std::vector<SlurmJob>& jobs);  // the joules of those that have ended
  Result<std::pair<int, PlacementId>> slice_for(const SlurmRequest& request);

  Slurm& slurm_;
  NodeAgent& agent_;
  LiveClock& clock_;
};

}  // namespace smartmig
