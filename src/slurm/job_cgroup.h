// The cgroups that Slurm creates for a job: directories below "slurm" (cgroup v1, one per controller) or
// "slurmstepd.scope" (v2), with the node's name if a machine has several slurmd. Empty if there is none.
#pragma once
#include <cstdint>
#include <string>

#include "cluster/device_fence.h"

namespace smartmig {

// `root`: /sys/fs/cgroup. `controller`: "devices", "freezer".
std::string job_cgroup_v1(const std::string& root, const std::string& controller, const std::string& node,
                          std::uint32_t job);
std::string job_cgroup_v2(const std::string& root, const std::string& node, std::uint32_t job);

DeviceFence::Find cgroups_of_jobs(std::string root, std::string node);  // for a fence

}  // namespace smartmig
