// Checks whether a cluster is suitable for smartmig (`smartmig slurm check`): Slurm's configuration, the nodes' units
// and the agents' replies. Pure: takes what was read and returns findings, each with the change to make.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "slurm/snapshot.h"

namespace smartmig {

struct SiteFinding {
  bool good = false;
  std::string what;   // "JobSubmitPlugins", "node n1"
  std::string words;  // what was found, and what to change
};

// Of `scontrol show config`: lines "Key = Value".
std::map<std::string, std::string> parse_slurm_config(std::string_view text);

bool constrains_devices(const std::map<std::string, std::string>& config);

struct SiteFacts {
  std::string version;                         // of Slurm
  std::map<std::string, std::string> config;   // parse_slurm_config
  std::vector<SlurmNode> nodes;                // of the partitions
  std::map<std::string, Result<Json>> agents;  // by node: the answer to `status`
};
std::vector<SiteFinding> check_site(const SiteFacts& facts);

}  // namespace smartmig
