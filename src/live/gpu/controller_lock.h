// One controller per GPU: a file lock per GPU UUID in a directory that all controllers of a machine agree on. The
// kernel drops the lock with the process, so a crash leaves nothing to clean; the file keeps the pid for the message of
// whoever comes second. Emulated machines lock inside their own state directory, so that many fit on one host.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig {

class ControllerLock {
 public:
  // Takes all or none. kBusy names the file and the pid that has it.
  static Result<ControllerLock> take(const std::string& directory, const std::vector<std::string>& gpu_uuids);
  ControllerLock() = default;
  ControllerLock(ControllerLock&& other) noexcept : fds_(std::move(other.fds_)) { other.fds_.clear(); }
  ControllerLock& operator=(ControllerLock&& other) noexcept;
  ~ControllerLock();

 private:
  std::vector<int> fds_;
};

// Where the locks of this machine's real GPUs lie: SMARTMIG_LOCK_DIR, else NVML_SIM_STATE, else /run/lock/smartmig for
// root, else a folder in /tmp.
std::string default_lock_directory();

}  // namespace smartmig
