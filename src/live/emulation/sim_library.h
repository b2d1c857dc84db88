// What the emulated libnvidia-ml.so.1 offers beyond NVML (nvml-sim/sim_api.h), found at run time in the same library
// that NvmlDriver opens: the clock, stand-ins, creating machines, and faults. It stays attached, so that the machine
// exists whether or not a driver is open. Thread rule: any thread.
#pragma once
#include <sim_api.h>

#include <memory>
#include <string>

#include "base/result.h"

#define SMARTMIG_SIM_FUNCTIONS(X) \
  X(nvmlInit_v2)                  \
  X(nvmlShutdown)                 \
  X(nvmlErrorString)              \
  X(nvmlSimMakeMachine)           \
  X(nvmlSimGetBoards)             \
  X(nvmlSimLastError)             \
  X(nvmlSimStateDirectory)        \
  X(nvmlSimClockMode)             \
  X(nvmlSimNow)                   \
  X(nvmlSimSleep)                 \
  X(nvmlSimClockJoin)             \
  X(nvmlSimClockLeave)            \
  X(nvmlSimClockBlock)            \
  X(nvmlSimClockUnblockThread)    \
  X(nvmlSimExpectProcess)         \
  X(nvmlSimWakeThread)            \
  X(nvmlSimStandIn)               \
  X(nvmlSimStandDown)             \
  X(nvmlSimStandInMemory)         \
  X(nvmlSimGetSlice)              \
  X(nvmlSimInjectFault)           \
  X(nvmlSimClearFaults)           \
  X(nvmlSimResetGpu)

namespace smartmig {

class SimLibrary {
 public:
  static Result<std::shared_ptr<SimLibrary>> open(const std::string& path);  // kUnsupported: not an emulated one
  ~SimLibrary();
  SimLibrary(const SimLibrary&) = delete;
  SimLibrary& operator=(const SimLibrary&) = delete;

  Result<Ok> attach();  // to the machine of NVML_SIM_STATE; once is enough
  Error error(nvmlReturn_t code, std::string what) const;
  const std::string& path() const { return path_; }

#define SMARTMIG_SIM_MEMBER(name) decltype(&::name) name = nullptr;
  SMARTMIG_SIM_FUNCTIONS(SMARTMIG_SIM_MEMBER)
#undef SMARTMIG_SIM_MEMBER

 private:
  SimLibrary() = default;
  std::string path_;
  bool attached_ = false;
};

}  // namespace smartmig
