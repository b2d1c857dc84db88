// Checks whether this machine can be controlled: a list of findings, each with a remedy. The checks read only; the
// directories that they read can be others, so that tests make a sick machine from files. Thread rule: free.
#pragma once
#include <string>
#include <vector>

#include "live/gpu/driver.h"

namespace smartmig {

struct Finding {
  enum State { kOk, kWarning, kFailure } state = kOk;
  std::string check, found, remedy;  // remedy empty when ok
};

struct DoctorOptions {
  std::string state_dir, lock_dir;
  std::string proc_root = "/proc", sys_root = "/sys";
  bool emulated = false;  // no driver, no device nodes, no locks to look at
};

// `driver` may be null: then `driver_error` says why it did not open.
std::vector<Finding> examine(MigDriver* driver, const std::string& driver_error, const DoctorOptions& options);

}  // namespace smartmig
