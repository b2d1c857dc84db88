// Slurm's jobs and nodes as a ClusterWorkload (cluster/workload.h), and the controller's actions as Slurm's. A job's
// request is in its AdminComment (request.h), which also shows its owner the result. Nodes that Slurm drained because a
// Prolog or Epilog failed are resumed from here (drained_nodes.h). One owner.
#pragma once
#include <map>
#include <memory>

#include "cluster/workload.h"
#include "live/live_clock.h"
#include "slurm/drained_nodes.h"
#include "slurm/slurm.h"

namespace smartmig {

class SlurmWorkload : public ClusterWorkload {
 public:
  struct Options {
    // Only looked at: requests may stand in the comment, too, holds and begin times do not count, nothing is resumed.
    bool watched = false;
    std::string resumed_file;                     // of resumed nodes
    int resumes = 2;                              // of a node within an hour
    std::function<void(const std::string&)> say;  // words for the log; empty: none
  };
  SlurmWorkload(Slurm& slurm, LiveClock& clock, Options options);

  const EngineWords& words() const override;
  Result<std::vector<ClusterJob>> jobs() override;
  Result<std::vector<ClusterNode>> nodes() override;
  Result<Ok> act(const std::vector<ClusterAction>& actions) override;
  void add_metrics(MetricLines& lines) const override;

 private:
  using Nodes = std::map<std::string, SlurmNode>;
  ClusterJob seen(const SlurmJob& job);

  Slurm& slurm_;
  LiveClock& clock_;
  Options options_;
  DrainedNodes drained_;
  std::shared_ptr<Nodes> nodes_ = std::make_shared<Nodes>();  // as they were last seen: objections look there
  std::map<std::string, std::function<std::string(const std::string&)>> objections_;  // by needs
  std::uint64_t requests_ = 0, resumed_ = 0;
};

extern const EngineWords kSlurmWords;

// These actions as Slurm is asked for them.
std::vector<SlurmAction> slurm_actions(const std::vector<ClusterAction>& actions);

}  // namespace smartmig
