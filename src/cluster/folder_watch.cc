#include "cluster/folder_watch.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/errors.h"

namespace smartmig {

Result<FolderWatch> FolderWatch::open(const std::string& folder) {
  FolderWatch watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (watch.fd_ < 0 || ::inotify_add_watch(watch.fd_, folder.c_str(),
                                           IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR) < 0)
    return io_error("cannot watch {}: {}", folder, std::strerror(errno));
  return watch;
}

FolderWatch::FolderWatch(FolderWatch&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FolderWatch::~FolderWatch() {
  if (fd_ >= 0) ::close(fd_);
}

bool FolderWatch::wait(Time limit) {
  pollfd poll{fd_, POLLIN, 0};
  const int ms = int(std::clamp<std::int64_t>(limit.count() / 1000, 0, 3'600'000));
  if (::poll(&poll, 1, ms) <= 0) return false;
  alignas(inotify_event) char events[4096];
  while (::read(fd_, events, sizeof events) > 0) {
  }
  return true;
}

}  // namespace smartmig
