#include "slurm/job_cgroup.h"

#include <filesystem>

namespace smartmig {
namespace {

namespace fs = std::filesystem;

std::string folder_of(std::uint32_t job) { return "job_" + std::to_string(job); }

}  // namespace

std::string job_cgroup_v1(const std::string& root, const std::string& controller, const std::string& node,
                          std::uint32_t job) {
  std::error_code error;
  for (const std::string& top : {root + "/" + controller + "/slurm", root + "/" + controller + "/slurm_" + node})
    for (fs::directory_iterator at(top, error), end; !error && at != end; at.increment(error))
      if (const std::string path = at->path().string() + "/" + folder_of(job); fs::is_directory(path, error))
        return path;
  return {};
}

std::string job_cgroup_v2(const std::string& root, const std::string& node, std::uint32_t job) {
  std::error_code ignored;
  for (const std::string& mount : {root, root + "/unified"})
    for (const std::string& scope : {std::string("slurmstepd.scope"), node + "_slurmstepd.scope"})
      if (const std::string path = mount + "/system.slice/" + scope + "/" + folder_of(job);
          fs::is_directory(path, ignored))
        return path;
  return {};
}

DeviceFence::Find cgroups_of_jobs(std::string root, std::string node) {
  return [root = std::move(root), node = std::move(node)](std::uint32_t job) {
    return DeviceFence::JobCgroup{job_cgroup_v1(root, "devices", node, job), job_cgroup_v2(root, node, job)};
  };
}

}  // namespace smartmig
