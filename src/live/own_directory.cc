#include "live/own_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/errors.h"
#include "live/durable_file.h"

namespace smartmig {
namespace {

// The group of a plain user counts as the user: distributions give each one a group of its own.
bool others_may_write(const struct stat& entry) {
  if (entry.st_mode & S_IWOTH) return true;
  return (entry.st_mode & S_IWGRP) && (::geteuid() == 0 || entry.st_gid != ::getegid());
}

}  // namespace

Result<OwnDirectory> OwnDirectory::open(const std::string& path, int mode) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (!parent.empty()) SMARTMIG_RETURN_IF_ERROR(make_directories(parent));
  const bool made = ::mkdir(path.c_str(), mode_t(mode)) == 0;
  if (!made && errno != EEXIST) return io_error("cannot create the directory {}: {}", path, std::strerror(errno));
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ELOOP || errno == ENOTDIR)
      return no_permission("{} is a link or a file instead of a directory; remove it, or choose another place", path);
    return io_error("cannot open the directory {}: {}", path, std::strerror(errno));
  }
  OwnDirectory directory(fd, path);
  struct stat entry {};
  if (::fstat(fd, &entry) != 0) return io_error("cannot read the directory {}: {}", path, std::strerror(errno));
  if (entry.st_uid != 0 && entry.st_uid != ::geteuid())
    return no_permission(
        "the directory {} belongs to user {}, who could change its contents; remove it, or "
        "choose another place",
        path, entry.st_uid);
  if (made && ::fchmod(fd, mode_t(mode)) != 0)  // whatever the umask
    return io_error("cannot set the mode of {}: {}", path, std::strerror(errno));
  if (!made && others_may_write(entry))
    return no_permission("other users may write to the directory {} (mode {:o}); run chmod go-w {}", path,
                         entry.st_mode & 07777, path);
  return directory;
}

Result<int> OwnDirectory::open_file(const std::string& name) const {
  const int fd = ::openat(fd_, name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (fd < 0) {
    if (errno == ELOOP) return no_permission("{}/{} is a link; remove it", path_, name);
    return io_error("cannot open {}/{}: {}", path_, name, std::strerror(errno));
  }
  struct stat entry {};
  std::string trouble;
  if (::fstat(fd, &entry) != 0)
    trouble = std::strerror(errno);
  else if (!S_ISREG(entry.st_mode))
    trouble = "is not a regular file";
  else if (entry.st_uid != ::geteuid())
    trouble = fmt::format("belongs to user {}", entry.st_uid);
  else if (entry.st_nlink != 1)
    trouble = "has a second name (a hard link)";
  else if ((entry.st_mode & 077) && ::fchmod(fd, 0600) != 0)
    trouble = "can be opened by others";
  if (trouble.empty()) return fd;
  ::close(fd);
  return no_permission("{}/{} {}: remove it", path_, name, trouble);
}

OwnDirectory::OwnDirectory(OwnDirectory&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

OwnDirectory::~OwnDirectory() {
  if (fd_ >= 0) ::close(fd_);
}

std::string runtime_directory(const std::string& name) {
  if (::geteuid() == 0) return "/run/" + name;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime && *runtime == '/') return fmt::format("{}/{}", runtime, name);
  return fmt::format("/tmp/{}-{}", name, ::geteuid());
}

}  // namespace smartmig
