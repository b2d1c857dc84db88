// libnvidia-ml.so.1 as a table of functions, opened at run time: nothing of CUDA is needed to build, and a machine
// without a driver gets a sentence instead of a loader error. nvmlInit at open, nvmlShutdown at the end.
// What not every driver has is null there. Thread rule: as NVML's own, any thread.
#pragma once
#include <nvml_abi.h>

#include <memory>
#include <string>

#include "base/result.h"

#define SMARTMIG_NVML_FUNCTIONS(X)                 \
  X(nvmlInit_v2)                                   \
  X(nvmlShutdown)                                  \
  X(nvmlErrorString)                               \
  X(nvmlSystemGetDriverVersion)                    \
  X(nvmlDeviceGetCount_v2)                         \
  X(nvmlDeviceGetHandleByIndex_v2)                 \
  X(nvmlDeviceGetName)                             \
  X(nvmlDeviceGetUUID)                             \
  X(nvmlDeviceGetMinorNumber)                      \
  X(nvmlDeviceGetPciInfo_v3)                       \
  X(nvmlDeviceGetMemoryInfo)                       \
  X(nvmlDeviceGetPowerUsage)                       \
  X(nvmlDeviceGetTotalEnergyConsumption)           \
  X(nvmlDeviceGetComputeRunningProcesses_v3)       \
  X(nvmlDeviceGetMigMode)                          \
  X(nvmlDeviceSetMigMode)                          \
  X(nvmlDeviceGetMaxMigDeviceCount)                \
  X(nvmlDeviceGetMigDeviceHandleByIndex)           \
  X(nvmlDeviceGetGpuInstanceId)                    \
  X(nvmlDeviceGetComputeInstanceId)                \
  X(nvmlDeviceGetGpuInstanceProfileInfo)           \
  X(nvmlDeviceGetGpuInstancePossiblePlacements_v2) \
  X(nvmlDeviceCreateGpuInstanceWithPlacement)      \
  X(nvmlGpuInstanceDestroy)                        \
  X(nvmlDeviceGetGpuInstances)                     \
  X(nvmlDeviceGetGpuInstanceById)                  \
  X(nvmlGpuInstanceGetInfo)                        \
  X(nvmlGpuInstanceGetComputeInstanceProfileInfo)  \
  X(nvmlGpuInstanceCreateComputeInstance)          \
  X(nvmlGpuInstanceGetComputeInstances)            \
  X(nvmlComputeInstanceGetInfo_v2)                 \
  X(nvmlComputeInstanceDestroy)

#define SMARTMIG_NVML_OPTIONAL(X)                        \
  X(nvmlEventSetCreate)                                  \
  X(nvmlDeviceRegisterEvents)                            \
  X(nvmlEventSetWait_v2)                                 \
  X(nvmlEventSetFree)                                    \
  X(nvmlDeviceGetTotalEccErrors)                         \
  X(nvmlDeviceGetHandleByUUID)                           \
  X(nvmlGpuInstanceGetComputeInstancePossiblePlacements) \
  X(nvmlGpuInstanceCreateComputeInstanceWithPlacement)

namespace smartmig {

class NvmlApi {
 public:
  static Result<std::unique_ptr<NvmlApi>> open(const std::string& library);
  ~NvmlApi();
  NvmlApi(const NvmlApi&) = delete;
  NvmlApi& operator=(const NvmlApi&) = delete;

#define SMARTMIG_NVML_MEMBER(name) decltype(&::name) name = nullptr;
  SMARTMIG_NVML_FUNCTIONS(SMARTMIG_NVML_MEMBER)
  SMARTMIG_NVML_OPTIONAL(SMARTMIG_NVML_MEMBER)
#undef SMARTMIG_NVML_MEMBER

  // The code as an Error: what was tried, the library's own words, and what to do about it.
  Error error(nvmlReturn_t code, std::string what) const;
  const std::string& library() const { return library_; }

 private:
  NvmlApi() = default;
  void* handle_ = nullptr;
  bool ready_ = false;
  std::string library_;
};

// SMARTMIG_NVML, else libnvidia-ml.so.1.
std::string default_nvml_library();

}  // namespace smartmig
