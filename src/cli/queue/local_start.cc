#include "cli/queue/local_start.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "live/jobs/reach.h"

namespace smartmig::cli {
namespace {

bool is_missing(const std::string& path) {
  struct stat seen {};
  return ::stat(path.c_str(), &seen) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool is_directory(const std::string& path) {
  struct stat seen {};
  return ::stat(path.c_str(), &seen) == 0 && S_ISDIR(seen.st_mode);
}

// Empty: nothing is missing, as far as this user can see.
std::string missing_program(const JobSpec& spec) {
  const std::string& program = spec.command.front();
  const auto below = [&](const std::string& path) {
    return path.starts_with('/') ? path : spec.directory + "/" + path;
  };
  if (program.find('/') != program.npos) {
    if (is_missing(below(program))) return fmt::format("there is no program {}", below(program));
    return is_directory(below(program)) ? fmt::format("{} is a directory, not a program", program) : "";
  }
  for (const std::string_view folder : split(search_path(spec), ':')) {
    const std::string path = below(folder.empty() ? program : std::string(folder) + "/" + program);
    if (!is_missing(path) && !is_directory(path) && (::access(path.c_str(), X_OK) == 0 || errno != EACCES)) return "";
    if (!folder.empty() && ::access(below(std::string(folder)).c_str(), X_OK) != 0 && errno == EACCES) return "";
  }
  return fmt::format("no program {} lies in the job's PATH", program);
}

}  // namespace

Result<Ok> check_local_start(const JobSpec& spec, std::vector<std::string>& notes) {
  std::string missing;
  if (is_missing(spec.directory))
    missing = fmt::format("there is no directory {}: make it, or name another with --chdir", spec.directory);
  else if (!spec.command.empty())
    missing = missing_program(spec);
  if (missing.empty()) return Ok{};
  if (spec.dependencies.empty() && !spec.singleton && !spec.hold && !spec.begin) return invalid("{}", missing);
  notes.push_back(missing + "; the job is accepted, since it may be there when it starts");
  return Ok{};
}

}  // namespace smartmig::cli
