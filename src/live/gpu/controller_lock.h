// One controller per GPU: a file lock per GPU UUID in a directory that all controllers of a user agree on, and that
// this user alone can write (own_directory.h); root's is the one that matters, since the geometry of a GPU is root's to
// change. Only its owner can open a lock file, so nobody else can hold it. The kernel drops the lock with the process,
// so a crash leaves nothing to clean; the file keeps the pid for people who look. Emulated machines lock inside their
// own state directory, so that many fit on one host.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig {

class ControllerLock {
 public:
  // Takes all or none. kBusy names the file and the process that has it, where the kernel tells which (/proc/locks).
  static Result<ControllerLock> take(const std::string& directory, const std::vector<std::string>& gpu_uuids);
  ControllerLock() = default;
  ControllerLock(ControllerLock&& other) noexcept : fds_(std::move(other.fds_)) { other.fds_.clear(); }
  ControllerLock& operator=(ControllerLock&& other) noexcept;
  ~ControllerLock();

 private:
  std::vector<int> fds_;
};

// Where the locks of this machine's real GPUs lie: SMARTMIG_LOCK_DIR, else NVML_SIM_STATE, else /run/smartmig-locks for
// root, else a directory of the user's own (runtime_directory).
std::string default_lock_directory();

}  // namespace smartmig
