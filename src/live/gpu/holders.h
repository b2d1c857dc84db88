// Finds the processes that hold a GPU or a slice open. NVML says only "in use by another client"; /proc/*/fd tells
// which process: there a monitor or a leaked handle shows as a link to /dev/nvidiaN or /dev/nvidia-caps/nvidia-capN.
// Which capability belongs to which instance is in /proc/driver/nvidia-caps/mig-minors. Reads only; processes of other
// users are visible to root alone. Thread rule: free.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace smartmig {

struct Holder {
  std::uint32_t pid = 0;
  std::string name;                // of /proc/PID/comm
  std::vector<std::string> nodes;  // "/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap30"; sorted
};

// Where the nodes of an emulated machine lie (its NVML_SIM_STATE, with dev/ and proc/ inside); empty on a real one.
std::string emulated_machine();

struct HolderQuery {
  std::string proc_root = "/proc";
  int minor = -1;  // /dev/nvidiaN; -1 any board
  // GI and CI whose capability nodes count; -1: any node of that board
  int gpu_instance = -1, compute_instance = -1;
  std::string machine = emulated_machine();
};

// Sorted by pid; this process is left out.
std::vector<Holder> find_holders(const HolderQuery& query);
// What a job on that slice opens: the driver's common nodes, its board's and its capabilities.
std::vector<std::string> nodes_of_slice(const HolderQuery& query);
std::string describe(const std::vector<Holder>& holders);  // "pid 812 (dcgmi) through /dev/nvidia0"; empty if none

}  // namespace smartmig
