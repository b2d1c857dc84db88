#include "cli/queue/local_start.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "live/jobs/container_command.h"
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
std::string missing_program(const JobSpec& spec, const std::string& program) {
  const auto below = [&](const std::string& path) {
    return path.starts_with('/') ? path : spec.directory + "/" + path;
  };
  if (program.find('/') != program.npos) {
    if (is_missing(below(program))) return fmt::format("program {} does not exist", below(program));
    return is_directory(below(program)) ? fmt::format("{} is a directory, not a program", program) : "";
  }
  for (const std::string_view folder : split(search_path(spec), ':')) {
    const std::string path = below(folder.empty() ? program : std::string(folder) + "/" + program);
    if (!is_missing(path) && !is_directory(path) && (::access(path.c_str(), X_OK) == 0 || errno != EACCES)) return "";
    if (!folder.empty() && ::access(below(std::string(folder)).c_str(), X_OK) != 0 && errno == EACCES) return "";
  }
  return fmt::format("program {} is not in the job's PATH", program);
}

std::string missing_program(const JobSpec& spec) { return missing_program(spec, spec.command.front()); }

// Of a runtime that is named or follows from the image; the site's default is the daemon's to know.
std::string missing_runtime(const JobSpec& spec) {
  const std::string runtime = container_runtime(spec, "");
  return runtime.empty() ? "" : missing_program(spec, runtime);
}

}  // namespace

Result<Ok> check_local_start(const JobSpec& spec, std::vector<std::string>& notes) {
  std::string missing;
  if (is_missing(spec.directory))
    missing = fmt::format("directory {} does not exist; create it, or choose another with --chdir", spec.directory);
  else if (!spec.container.empty())
    missing = missing_runtime(spec);
  else if (!spec.command.empty())
    missing = missing_program(spec);
  if (missing.empty()) return Ok{};
  if (spec.dependencies.empty() && !spec.singleton && !spec.hold && !spec.begin) return invalid("{}", missing);
  notes.push_back(missing + "; the job is accepted, because this may exist when it starts");
  return Ok{};
}

}  // namespace smartmig::cli
