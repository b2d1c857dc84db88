#include "serve/attempts/job_mapping.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/file.h"
#include "live/durable_file.h"

namespace smartmig {
namespace {

bool is_ours(std::string_view name) {  // "3" or "3.11"
  const auto digits = [](std::string_view t) {
    return !t.empty() && t.size() <= 6 && t.find_first_not_of("0123456789") == t.npos;
  };
  const auto dot = name.find('.');
  return digits(name.substr(0, dot)) && (dot == name.npos || digits(name.substr(dot + 1)));
}

}  // namespace

Result<JobMapping> JobMapping::open(const std::string& directory) {
  SMARTMIG_RETURN_IF_ERROR(make_directories(directory));
  for (const std::string& path : files_in(directory, "", "")) {
    struct stat file {};
    if (!is_ours(std::filesystem::path(path).filename().string())) continue;
    if (::lstat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) continue;
    if (::unlink(path.c_str()) != 0) return io_error("cannot remove the old {}: {}", path, std::strerror(errno));
  }
  return JobMapping(directory);
}

std::string JobMapping::file_of(Slice slice) const {
  return slice.second < 0 ? fmt::format("{}/{}", directory_, slice.first)
                          : fmt::format("{}/{}.{}", directory_, slice.first, slice.second);
}

Result<Ok> JobMapping::set(const std::map<Slice, std::uint64_t>& jobs) {
  Result<Ok> all = Ok{};
  for (auto at = written_.begin(); at != written_.end();) {
    const std::string path = file_of(at->first);
    if (jobs.contains(at->first)) {
      ++at;
    } else if (::unlink(path.c_str()) == 0 || errno == ENOENT) {
      at = written_.erase(at);
    } else {
      all = io_error("cannot remove {}: {}", path, std::strerror(errno));
      ++at;
    }
  }
  for (const auto& [slice, job] : jobs) {
    const auto at = written_.find(slice);
    if (at != written_.end() && at->second == job) continue;
    const std::string path = file_of(slice);
    if (const auto done = write_file(path, fmt::format("{}\n", job)); !done) {
      all = done.error();
      continue;
    }
    ::chmod(path.c_str(), 0644);  // the exporter is another user
    written_[slice] = job;
  }
  return all;
}

}  // namespace smartmig
