// `smartmig slurm serve`: the controller of a cluster in the foreground, with its page if requested.
#pragma once
#include "cli/slurm/slurm_options.h"
#include "cluster/agents.h"
#include "slurm/slurm.h"

namespace smartmig::cli {

int serve_cluster(const SlurmOptions& options);  // until a signal
int watch_cluster(const SlurmOptions& options);  // --shadow: decides and prints; nothing of the cluster is touched

// The nodes that have units, their agents' addresses told to `agents`.
Result<std::vector<SlurmNode>> addressed_nodes(Slurm& slurm, WireAgents& agents, const SlurmOptions& options);

}  // namespace smartmig::cli
