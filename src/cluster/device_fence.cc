#include "cluster/device_fence.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "base/errors.h"

namespace smartmig {
namespace {

namespace fs = std::filesystem;

std::optional<std::pair<std::uint32_t, std::uint32_t>> numbers_of(const std::string& file) {
  struct stat entry {};
  if (::stat(file.c_str(), &entry) != 0 || !S_ISCHR(entry.st_mode)) return std::nullopt;
  return std::pair{std::uint32_t(major(entry.st_rdev)), std::uint32_t(minor(entry.st_rdev))};
}

bool write_line(const std::string& file, const std::string& line) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = ::write(fd, line.data(), line.size()) == ssize_t(line.size());
  ::close(fd);
  return done;
}

// Files beside these, of the same majors.
DeviceNumbers others_beside(const std::vector<std::string>& devices, const DeviceNumbers& own) {
  std::set<std::string> folders;
  std::set<std::uint32_t> majors;
  for (const std::string& device : devices) folders.insert(fs::path(device).parent_path().string());
  for (const auto& one : own) majors.insert(one.first);
  DeviceNumbers out;
  std::error_code error;
  for (const std::string& folder : folders)
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      const auto found = numbers_of(at->path().string());
      if (found && majors.contains(found->first) && std::find(own.begin(), own.end(), *found) == own.end())
        out.push_back(*found);
    }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Result<DeviceFence::Kind> DeviceFence::fence(std::uint32_t job, const std::vector<std::string>& devices) const {
  DeviceNumbers own;
  for (const std::string& device : devices)
    if (const auto found = numbers_of(device)) own.push_back(*found);
  if (own.empty()) return unsupported("job {}: none of its files is a device", job);
  const auto [denied, group] = find_(job);
  if (!denied.empty()) {
    for (const auto& [major, minor] : others_beside(devices, own))
      if (!write_line(denied + "/devices.deny", fmt::format("c {}:{} rwm", major, minor)))
        return io_error("cannot write to {}/devices.deny", denied);
    return Kind::kRepeat;
  }
  if (group.empty()) return not_found("job {} has no cgroup", job);
  SMARTMIG_RETURN_IF_ERROR(attach_(group, own));
  return Kind::kOnce;
}

}  // namespace smartmig
