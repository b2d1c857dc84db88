// A cluster that is only watched: the real one's jobs come and end as they do, and everything that the controller asks
// for happens here alone, at once, on GPUs that every node is taken to have. So a site sees for a day what smartmig would
// do, without hook, agents or any change. A job that the controller has put on a slice counts as running from then until
// the real one ends. Requests are read from AdminComment, else from the comment; a job without one may run anywhere.
// Thread rule: as Slurm and Agents ask: ask() from any thread.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "live/live_clock.h"
#include "mig/gpu_model.h"
#include "slurm/agents.h"
#include "slurm/slurm.h"

namespace smartmig {

class ShadowCluster : public Slurm, public Agents {
 public:
  // `gpus`: of one node, "4xa100-40gb".
  static Result<std::unique_ptr<ShadowCluster>> open(Slurm& real, const std::string& gpus, LiveClock& clock);

  Result<std::vector<SlurmJob>> jobs() override;
  Result<std::vector<SlurmNode>> nodes() override;
  Result<Ok> act(const std::vector<SlurmAction>& actions) override;
  Result<Json> ask(const std::string& node, Json request, Patience patience) override;

 private:
  ShadowCluster(Slurm& real, LiveClock& clock) : real_(real), clock_(clock) {}
  struct Board {
    std::shared_ptr<const GpuModel> model;
    Layout layout;
  };
  Slurm& real_;
  LiveClock& clock_;
  std::mutex mutex_;  // of what follows
  std::vector<Board> fresh_;
  std::map<std::string, std::vector<Board>> boards_;  // by node
  std::map<SlurmJobName, UnixTime> released_;
  std::map<SlurmJobName, std::uint32_t> numbers_;  // of tasks that have no record of their own
};

}  // namespace smartmig
