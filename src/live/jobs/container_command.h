// The command of a job that runs in a container: its runtime's own command line, so that the image sees the job's slice
// and no other GPU, its working directory and environment, and so that the container's processes stay below the job's
// supervisor and in its cgroups (docs/containers.md). Nothing here opens a path that a user named.
#pragma once
#include <string>
#include <vector>

#include "live/jobs/runner.h"

namespace smartmig {

// "podman", "apptainer" or "singularity": what the spec says; else by the form of its image, else `preferred`.
std::string container_runtime(const JobSpec& spec, const std::string& preferred);

// "SOURCE[:TARGET[:ro|rw]]", both absolute.
struct ContainerMount {
  std::string source, target;
  bool read_only = false;
};
Result<ContainerMount> parse_container_mount(std::string_view text);
Result<Ok> check_container(const JobSpec& spec);  // its image, runtime and mounts, and what cannot go with them

// How the slice is handed to a runtime that hides devices.
struct ContainerDevice {
  std::string cdi;               // "nvidia.com/gpu=MIG-..."; empty: by `visible` alone
  std::string visible = "void";  // NVIDIA_VISIBLE_DEVICES, which NVIDIA's hook reads; void: it adds nothing
};
// By a CDI specification that names the slice by its UUID (an index names another slice after the next reshape), else
// by NVIDIA's hook. kUnsupported: neither is there. Its defaults are the places where podman looks.
struct ContainerHost {
  std::vector<std::string> cdi = {"/etc/cdi", "/var/run/cdi"};
  std::vector<std::string> hooks = {"/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d"};
};
Result<ContainerDevice> container_device(const std::string& device, const ContainerHost& host = {});

// `directory`: of this attempt, its user's to write, removed after its end. `rootless`: its user is not root.
struct ContainerPlace {
  std::string directory;
  ContainerDevice device;
  bool rootless = true;
};
// Replaces the job's arguments and environment (each "NAME=value") by those of the runtime.
void enter_container(const Launch& launch, const ContainerPlace& place, std::vector<std::string>& arguments,
                     std::vector<std::string>& environment);

}  // namespace smartmig
