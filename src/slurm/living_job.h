// Does anything of a job of Slurm still live on this node? What slurmctld says of its jobs may be old or lost;
// processes are there or not. Looked at before a slice is freed that Epilog has not marked:
//   - a process in the job's cgroup, where Slurm makes cgroups
//   - a slurmstepd of the job, by its title "slurmstepd: [12.batch]"
//   - a process whose environment says SLURM_JOB_ID of the job; of several slurmd on one machine, this node's
// Thread rule: free.
#pragma once
#include <cstdint>
#include <string>

namespace smartmig {

class LivingJobs {
 public:
  explicit LivingJobs(std::string node, std::string cgroups = "/sys/fs/cgroup", std::string proc = "/proc")
      : node_(std::move(node)), cgroups_(std::move(cgroups)), proc_(std::move(proc)) {}
  // What of it lives, in words: "process 4711 runs"; empty: nothing.
  std::string evidence(std::uint32_t job) const;

 private:
  std::string in_cgroups(std::uint32_t job) const;
  std::string in_processes(std::uint32_t job) const;
  std::string node_, cgroups_, proc_;
};

}  // namespace smartmig
