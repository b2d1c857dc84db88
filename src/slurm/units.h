// Units of the gres `mig`: the memory slices of a cluster's GPUs, which are constant for all layouts. A job takes at
// least the units of the smallest slice that meets its request. Its actual slice never has fewer, so a released job
// always finds its units free on its node.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "mig/catalog.h"

namespace smartmig {

struct UnitProfile {
  int units = 0, mem_mib = 0, compute_slices = 0;  // of a name that several models have, the least
};
// Schedulable profiles by name.
std::map<std::string, UnitProfile> unit_profiles(std::span<const std::shared_ptr<const GpuModel>> models);
int units_of_gpus(std::span<const std::shared_ptr<const GpuModel>> gpus);

struct SlurmSite {
  std::vector<std::shared_ptr<const GpuModel>> models;
  std::vector<std::string> partitions;
  std::vector<std::uint32_t> operators;  // besides root, whose changes of jobs the hook lets pass: SlurmUser
  std::string version = "22.05";         // of Slurm
};
std::string units_lua(const SlurmSite& site);  // smartmig_units.lua, for deploy/slurm/job_submit.lua

}  // namespace smartmig
