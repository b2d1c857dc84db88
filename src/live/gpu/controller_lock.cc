#include "live/gpu/controller_lock.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "base/text.h"
#include "live/gpu/driver.h"
#include "live/own_directory.h"

namespace smartmig {
namespace {

// The process that took the lock, as the kernel has it in /proc/locks: "1: FLOCK ADVISORY WRITE 812 00:18:40 0 EOF".
// Nothing: it is of another pid namespace, or the file system names its devices otherwise.
std::optional<pid_t> holder_of(int fd) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) return std::nullopt;
  const std::string name =
      fmt::format("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev), std::uint64_t(file.st_ino));
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::vector<std::string_view> words;
    for (const std::string_view word : split(line, ' '))
      if (!word.empty()) words.push_back(word);
    if (words.size() < 6 || words[1] != "FLOCK" || words[5] != name) continue;
    const auto pid = parse_int(words[4]);
    if (pid && *pid > 0) return pid_t(*pid);
  }
  return std::nullopt;
}

bool has_ended(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

std::string words_of(std::optional<pid_t> holder, const std::string& path) {
  if (!holder || has_ended(*holder)) return fmt::format("a program whose pid is unknown (as root, try fuser {})", path);
  std::ifstream file(fmt::format("/proc/{}/comm", *holder));
  std::string name;
  std::getline(file, name);
  return name.empty() ? fmt::format("pid {}", *holder) : fmt::format("pid {} ({})", *holder, name);
}

// A holder that was killed while it started a program leaves the lock to that one until it is executed: its end is near.
bool lock_taken(int fd) {
  constexpr int kTries = 100;
  for (int i = 0; ::flock(fd, LOCK_EX | LOCK_NB) != 0; ++i) {
    const auto holder = holder_of(fd);
    if (i == kTries || !holder || !has_ended(*holder)) return ::flock(fd, LOCK_EX | LOCK_NB) == 0;
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
  SMARTMIG_TRY(const OwnDirectory own, OwnDirectory::open(directory));
  ControllerLock lock;
  for (const std::string& uuid : gpu_uuids) {
    const std::string path = fmt::format("{}/{}.lock", directory, uuid);
    SMARTMIG_TRY(const int fd, own.open_file(uuid + ".lock"));
    lock.fds_.push_back(fd);
    if (!lock_taken(fd))
      return busy_error("{} is controlled by {} (lock {}); stop that program or wait until it ends", uuid,
                        words_of(holder_of(fd), path), path);
    const std::string pid = fmt::format("{}\n", ::getpid());
    if (::ftruncate(fd, 0) == 0) (void)!::pwrite(fd, pid.data(), pid.size(), 0);  // for people; the disk may be full
  }
  return lock;
}

std::string default_lock_directory() {
  for (const char* name : {"SMARTMIG_LOCK_DIR", "NVML_SIM_STATE"})
    if (const char* value = std::getenv(name); value && *value) return value;
  return runtime_directory("smartmig-locks");
}

}  // namespace smartmig
