// `smartmig slurm serve`: the controller of a cluster in the foreground, with its page if requested.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/units.h"
#include "cluster/agents.h"
#include "queue/config/settings.h"
#include "slurm/slurm.h"

namespace smartmig::cli {

// The options of `smartmig slurm`, for all its parts.
struct SlurmOptions {
  std::vector<std::string> partitions;
  std::map<std::string, std::string> agents;  // addresses by node, where they are not by port
  int agent_port = 0;
  std::string state_dir, munge_socket;
  std::string metrics;
  std::string news;  // where agents tell of ends; empty: nowhere
  int resumes = 2;
  bool standby = false, shadow = false, json = false;
  Time takeover{}, start_patience{}, reshape_limit{};
  Settings settings;
  std::string gpus, node_list = "node[1-4]", part = "slurm", user = "slurm", slurm_version;
};

int serve_cluster(const SlurmOptions& options);  // until a signal
int watch_cluster(const SlurmOptions& options);  // --shadow: decides and prints; nothing of the cluster is touched

// The nodes that have units, their agents' addresses told to `agents`.
Result<std::vector<SlurmNode>> addressed_nodes(Slurm& slurm, WireAgents& agents, const SlurmOptions& options);

}  // namespace smartmig::cli
