// The agent's own scheduling when no controller has answered for a long time: takes held jobs that fit its node, oldest
// first, creates a slice for each in the simplest way, and releases them. So a cluster without its controller never
// stops. Jobs are distributed over the nodes by their name and the minute, so two agents rarely take the same job. If
// they do, Slurm starts it on one node, and the other agent takes its slice back at its next check. The joules of jobs
// that end go to Slurm's accounts, as a controller would record them. One thread.
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
