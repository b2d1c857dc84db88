#include "live/gpu/controller_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "live/durable_file.h"
#include "live/gpu/driver.h"

namespace smartmig {
namespace {

std::string holder_of(int fd) {
  char text[32] = {};
  const ssize_t n = ::pread(fd, text, sizeof text - 1, 0);
  return n > 0 ? std::string(text, std::strcspn(text, "\n")) : "?";
}

// A holder that was killed while it started a program leaves the lock to that one until it is executed: its end is near.
bool lock_soon_free(int fd) {
  const auto pid = parse_int(holder_of(fd));
  return pid && *pid > 0 && ::kill(pid_t(*pid), 0) != 0 && errno == ESRCH;
}

bool lock_taken(int fd) {
  constexpr int kTries = 100;
  for (int i = 0; ::flock(fd, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (i == kTries || !lock_soon_free(fd)) return false;
    ::usleep(10'000);
  }
  return true;
}

}  // namespace

ControllerLock& ControllerLock::operator=(ControllerLock&& other) noexcept {
  std::swap(fds_, other.fds_);
  return *this;
}

ControllerLock::~ControllerLock() {
  for (int fd : fds_) ::close(fd);
}

Result<ControllerLock> ControllerLock::take(const std::string& directory, const std::vector<std::string>& gpu_uuids) {
  SMARTMIG_RETURN_IF_ERROR(make_directories(directory));
  ControllerLock lock;
  for (const std::string& uuid : gpu_uuids) {
    const std::string path = fmt::format("{}/{}.lock", directory, uuid);
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return io_error("cannot open the lock {}: {}", path, std::strerror(errno));
    lock.fds_.push_back(fd);
    if (!lock_taken(fd))
      return busy_error("{} is controlled by pid {} already (lock {}): stop that program or wait until it ends", uuid,
                        holder_of(fd), path);
    const std::string pid = fmt::format("{}\n", ::getpid());
    if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, pid.data(), pid.size(), 0) < 0)
      return io_error("cannot write the lock {}: {}", path, std::strerror(errno));
  }
  return lock;
}

std::string default_lock_directory() {
  for (const char* name : {"SMARTMIG_LOCK_DIR", "NVML_SIM_STATE"})
    if (const char* value = std::getenv(name); value && *value) return value;
  return ::geteuid() == 0 ? "/run/lock/smartmig" : "/tmp/smartmig-locks";
}

}  // namespace smartmig
