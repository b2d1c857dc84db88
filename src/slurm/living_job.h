// Checks whether any process of a Slurm job still exists on this node. Reports of slurmctld may be old or lost;
// processes are certain. Used before a slice is freed that Epilog has not marked. Looks for
//   - a process in the job's cgroup, if Slurm creates cgroups
//   - a slurmstepd of the job, by its title "slurmstepd: [12.batch]"
//   - a process with the SLURM_JOB_ID of the job in its environment; with several slurmd on one machine, only this node's
// Any thread.
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
