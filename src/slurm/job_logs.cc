#include "slurm/job_logs.h"

#include <algorithm>

namespace smartmig {
namespace {

// Empty: not known.
std::string expanded(std::string_view pattern, const SlurmJob& job) {
  if (pattern.find('\\') != pattern.npos) return {};  // then sbatch expands nothing
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    std::size_t width = 0;
    while (++i < pattern.size() && pattern[i] >= '0' && pattern[i] <= '9' && width < 10)
      width = 10 * width + std::size_t(pattern[i] - '0');
    if (i == pattern.size()) return {};
    std::string value;
    switch (pattern[i]) {
      case '%':
        value = "%";
        break;
      case 'A':
        value = std::to_string(job.name.id);
        break;
      case 'a':
        value = job.name.task < 0 ? "4294967294" : std::to_string(job.name.task);
        break;
      case 'j':
      case 'J':
        value = std::to_string(job.number);
        break;
      case 'N':
        value = job.nodes;
        break;
      case 'u':
        value = job.user;
        break;
      case 'x':
        value = job.title;
        break;
      default:
        return {};
    }
    if (width > value.size() && std::string_view("Aaj").find(pattern[i]) != std::string_view::npos)
      value.insert(0, std::min<std::size_t>(width, 10) - value.size(), '0');
    out += value;
  }
  if (out.starts_with('/')) return out;
  return job.directory.starts_with('/') ? job.directory + "/" + out : std::string();
}

}  // namespace

std::vector<std::string> log_paths(const SlurmJob& job) {
  std::vector<std::string> out;
  const std::string usual = job.name.task < 0 ? "slurm-%j.out" : "slurm-%A_%a.out";
  for (const std::string& pattern : {job.output.empty() ? usual : job.output, job.errors})
    if (std::string path = pattern.empty() ? std::string() : expanded(pattern, job); !path.empty())
      out.push_back(std::move(path));
  return out;
}

}  // namespace smartmig
