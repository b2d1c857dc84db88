#include "slurm/living_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "live/kernel_text.h"
#include "slurm/job_cgroup.h"

namespace smartmig {
namespace {

namespace fs = std::filesystem;

// Of this group or one below it; empty: none.
std::string process_in_group(const std::string& group) {
  const auto first_in = [](const std::string& folder) {
    const std::string text = text_of_kernel(folder + "/cgroup.procs");
    return text.substr(0, text.find('\n'));
  };
  if (std::string pid = first_in(group); !pid.empty()) return pid;
  std::error_code error;
  for (fs::recursive_directory_iterator at(group, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (!at->is_directory(ignored)) continue;
    if (std::string pid = first_in(at->path().string()); !pid.empty()) return pid;
  }
  return {};
}

bool is_number(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The value of a variable in a block of NAME=VALUE, each ended by a zero; empty where it is not set.
std::string_view variable(std::string_view block, std::string_view name) {
  while (!block.empty()) {
    const std::string_view entry = block.substr(0, block.find('\0'));
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
    block.remove_prefix(std::min(block.size(), entry.size() + 1));
  }
  return {};
}

}  // namespace

std::string LivingJobs::in_cgroups(std::uint32_t job) const {
  for (const std::string& group :
       {job_cgroup_v2(cgroups_, node_, job), job_cgroup_v1(cgroups_, "freezer", node_, job),
        job_cgroup_v1(cgroups_, "devices", node_, job), job_cgroup_v1(cgroups_, "memory", node_, job),
        job_cgroup_v1(cgroups_, "cpuset", node_, job)}) {
    if (group.empty()) continue;
    if (const std::string pid = process_in_group(group); !pid.empty())
      return fmt::format("process {} runs in its cgroup", pid);
  }
  return {};
}

std::string LivingJobs::in_processes(std::uint32_t job) const {
  const std::string number = fmt::format("{}", job), title = fmt::format("slurmstepd: [{}", job);
  std::error_code error;
  for (fs::directory_iterator at(proc_, error), end; !error && at != end; at.increment(error)) {
    const std::string pid = at->path().filename().string();
    if (!is_number(pid)) continue;
    const std::string command = text_of_kernel(at->path().string() + "/cmdline");
    if (command.starts_with(title) && command.size() > title.size() &&
        (command[title.size()] == '.' || command[title.size()] == ']'))
      return fmt::format("its slurmstepd, process {}, runs", pid);
    const std::string environment = text_of_kernel(at->path().string() + "/environ");
    if (variable(environment, "SLURM_JOB_ID") != number) continue;
    const std::string_view node = variable(environment, "SLURMD_NODENAME");
    if (node.empty() || node == node_) return fmt::format("process {} runs", pid);
  }
  return {};
}

std::string LivingJobs::evidence(std::uint32_t job) const {
  std::string words = in_cgroups(job);
  return words.empty() ? in_processes(job) : words;
}

}  // namespace smartmig
