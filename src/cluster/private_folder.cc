#include "cluster/private_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/errors.h"
#include "live/durable_file.h"

namespace smartmig {

Result<Ok> make_private_folder(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) SMARTMIG_RETURN_IF_ERROR(make_directories(path));
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ELOOP || errno == ENOTDIR) return no_permission("{} is a link or a file, not a directory", path);
    return io_error("cannot open {}: {}", path, std::strerror(errno));
  }
  const int failed = ::fstat(fd, &there);
  ::close(fd);
  if (failed) return io_error("cannot inspect {}", path);
  if (there.st_uid != 0 && there.st_uid != ::geteuid())
    return no_permission("{} belongs to user {}; change its owner to the user of this program", path, there.st_uid);
  if (there.st_mode & (S_IWGRP | S_IWOTH))
    return no_permission("others may write to {}; run chmod go-w {}", path, path);
  return Ok{};
}

bool anybody_may_write(const std::string& folder) {
  struct stat there {};
  return ::stat(folder.c_str(), &there) == 0 && (there.st_mode & S_IWOTH);
}

}  // namespace smartmig
