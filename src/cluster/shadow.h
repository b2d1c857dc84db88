// A cluster that is only observed. The jobs of the real one arrive and end as they do, and all actions of the
// controller are carried out only here, at once, on GPUs that every node is assumed to have. A site can thus see for a
// day what smartmig would do, without agents or changes. A job that the controller has placed counts as running until
// the real job ends. A job without a request may have any slice. Threads as for ClusterWorkload and Agents: ask() from
// any thread.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cluster/agents.h"
#include "cluster/workload.h"
#include "live/live_clock.h"
#include "mig/gpu_model.h"

namespace smartmig {

class ShadowCluster : public ClusterWorkload, public Agents {
 public:
  // `gpus`: of one node, "4xa100-40gb".
  static Result<std::unique_ptr<ShadowCluster>> open(ClusterWorkload& real, const std::string& gpus, LiveClock& clock);

  const EngineWords& words() const override { return real_.words(); }
  Result<std::vector<ClusterJob>> jobs() override;
  Result<std::vector<ClusterNode>> nodes() override;
  Result<Ok> act(const std::vector<ClusterAction>& actions) override;
  Result<Json> ask(const std::string& node, Json request, Patience patience) override;

 private:
  ShadowCluster(ClusterWorkload& real, LiveClock& clock) : real_(real), clock_(clock) {}
  struct Board {
    std::shared_ptr<const GpuModel> model;
    Layout layout;
  };
  ClusterWorkload& real_;
  LiveClock& clock_;
  std::mutex mutex_;  // of what follows
  std::vector<Board> fresh_;
  std::map<std::string, std::vector<Board>> boards_;  // by node
  std::map<ClusterJobName, UnixTime> released_;
  std::map<ClusterJobName, std::uint32_t> numbers_;  // of tasks that have no record of their own
};

}  // namespace smartmig
