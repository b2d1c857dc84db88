#include "ctl_mounts.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <vector>

#include "base/text.h"

namespace smartmig::nvsim {
namespace {

struct Entry {
  std::string name, target;  // target: of a symbolic link
  mode_t mode = 0;
};

Result<std::vector<Entry>> entries_of(int folder, const std::string& path) {
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = copy >= 0 ? ::fdopendir(copy) : nullptr;
  if (!listing) return io_error("{}: {}", path, std::strerror(errno));
  std::vector<Entry> out;
  while (const dirent* one = ::readdir(listing)) {
    Entry entry;
    entry.name = one->d_name;
    struct stat facts {};
    if (entry.name == "." || entry.name == "..") continue;
    if (::fstatat(folder, one->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;  // gone meanwhile
    entry.mode = facts.st_mode;
    if (S_ISLNK(facts.st_mode)) {
      char target[PATH_MAX];
      const ssize_t length = ::readlinkat(folder, one->d_name, target, sizeof target);
      if (length < 0) continue;
      entry.target.assign(target, std::size_t(length));
    }
    out.push_back(std::move(entry));
  }
  ::closedir(listing);
  return out;
}

}  // namespace

Result<Ok> enter_mount_namespace() {
  const unsigned user = ::geteuid(), group = ::getegid();
  if (user != 0 || ::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
      return io_error(
          "the kernel gives no mount namespace to user {}: {}. Root gets one; others where user namespaces are allowed "
          "(sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; "
          "a container needs CAP_SYS_ADMIN or a seccomp profile that lets unshare pass)",
          user, std::strerror(errno));
    SMARTMIG_RETURN_IF_ERROR(put_file("/proc/self/setgroups", "deny"));
    SMARTMIG_RETURN_IF_ERROR(put_file("/proc/self/uid_map", fmt::format("{0} {0} 1", user)));
    SMARTMIG_RETURN_IF_ERROR(put_file("/proc/self/gid_map", fmt::format("{0} {0} 1", group)));
  }
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return io_error("the mounts cannot be made private: {}", std::strerror(errno));
  return Ok{};
}

Result<Ok> cover_folder(const std::string& folder, const std::function<bool(const std::string& name)>& keep) {
  const int old = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (old < 0) return io_error("{}: {}", folder, std::strerror(errno));
  auto entries = entries_of(old, folder);
  if (entries && ::mount("nvml-sim", folder.c_str(), "tmpfs", MS_NOSUID, "mode=755") != 0)
    entries = io_error("{}: no folder in memory can be mounted there: {}", folder, std::strerror(errno));
  if (!entries) return ::close(old), entries.error();
  for (const Entry& entry : *entries) {
    if (!keep(entry.name)) continue;
    const std::string place = folder + "/" + entry.name;
    if (S_ISLNK(entry.mode)) {
      if (::symlink(entry.target.c_str(), place.c_str()) != 0) continue;
      continue;
    }
    const bool is_folder = S_ISDIR(entry.mode);
    const bool made = is_folder ? ::mkdir(place.c_str(), 0755) == 0 : bool(put_file(place, ""));
    if (!made || show_at(fmt::format("/proc/self/fd/{}/{}", old, entry.name), place)) continue;
    is_folder ? ::rmdir(place.c_str()) : ::unlink(place.c_str());  // better not there than empty
  }
  ::close(old);
  return Ok{};
}

Result<Ok> show_at(const std::string& source, const std::string& place) {
  if (::mount(source.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return io_error("{} cannot be shown at {}: {}", source, place, std::strerror(errno));
  return Ok{};
}

Result<Ok> put_file(const std::string& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const bool written = fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == ssize_t(bytes.size());
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!written) return io_error("{}: {}", path, std::strerror(error));
  return Ok{};
}

}  // namespace smartmig::nvsim
