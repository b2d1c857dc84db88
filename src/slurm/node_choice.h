// The nodes that a Slurm job may use according to its owner's request: -w, -x, -C, -p, --reservation, CPUs and host
// memory. The controller pins jobs, so it must not pin one to a node where Slurm would never start it. Slurm has the
// last word: requests that are not understood here count as met, and the controller takes back a pin that Slurm does
// not follow. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "slurm/snapshot.h"

namespace smartmig {

// Why the job can never run on this node, as the end of a sentence: "lacks the feature big"; empty: it may. `asked`:
// the node of -w, empty: any.
std::string objection_to(const SlurmNode& node, const SlurmJob& job, std::string_view asked);
// Jobs with the same text get the same answers.
std::string node_needs(const SlurmJob& job, std::string_view asked);

// "big", "big&fast", "(a|b)&c", "[r1|r2]", "big*2": true also where the expression is not understood.
bool features_allow(std::string_view expression, const std::vector<std::string>& features);

// What it takes of this node.
int cpus_on(const SlurmNode& node, const SlurmJob& job);
int mem_on(const SlurmNode& node, const SlurmJob& job);

}  // namespace smartmig
