// The options of `smartmig slurm`, for all its parts.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/units.h"
#include "queue/config/settings.h"

namespace smartmig::cli {

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

}  // namespace smartmig::cli
