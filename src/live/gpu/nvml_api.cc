#include "live/gpu/nvml_api.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/errors.h"

namespace smartmig {

Result<std::unique_ptr<NvmlApi>> NvmlApi::open(const std::string& library) {
  std::unique_ptr<NvmlApi> api(new NvmlApi());
  api->library_ = library;
  // Never unmapped: a thread that hangs inside it, or its own threads, would find no code to return to.
  api->handle_ = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!api->handle_) {
    const char* why = ::dlerror();
    return not_found("cannot load NVML from {}: {}; install the NVIDIA driver, or use --emulate 8xa100-40gb", library,
                     why ? why : "no reason given");
  }
#define SMARTMIG_NVML_LOAD(name)                                                   \
  api->name = reinterpret_cast<decltype(api->name)>(::dlsym(api->handle_, #name)); \
  if (!api->name) return unsupported("{} has no {}: a driver of R520 or later is needed", library, #name);
  SMARTMIG_NVML_FUNCTIONS(SMARTMIG_NVML_LOAD)
#undef SMARTMIG_NVML_LOAD
#define SMARTMIG_NVML_LOAD(name) api->name = reinterpret_cast<decltype(api->name)>(::dlsym(api->handle_, #name));
  SMARTMIG_NVML_OPTIONAL(SMARTMIG_NVML_LOAD)
#undef SMARTMIG_NVML_LOAD
  if (const nvmlReturn_t code = api->nvmlInit_v2(); code != NVML_SUCCESS)
    return api->error(code, fmt::format("NVML of {} does not start", library));
  api->ready_ = true;
  return api;
}

NvmlApi::~NvmlApi() {
  if (ready_) nvmlShutdown();
  if (handle_) ::dlclose(handle_);
}

Error NvmlApi::error(nvmlReturn_t code, std::string what) const {
  const char* words = nvmlErrorString ? nvmlErrorString(code) : nullptr;
  const auto make = [&](Error::Code kind, std::string_view advice) {
    return Error{kind, fmt::format("{}: {} (NVML {}){}{}", what, words ? words : "unknown error", int(code),
                                   advice.empty() ? "" : "; ", advice)};
  };
  switch (code) {
    case NVML_ERROR_NO_PERMISSION:
      return make(Error::kNoPermission, "run as root, or give this user read access to the capability mig/config");
    case NVML_ERROR_NOT_FOUND:
      return make(Error::kNotFound, "");
    case NVML_ERROR_NOT_SUPPORTED:
      return make(Error::kUnsupported, "");
    case NVML_ERROR_IN_USE:
      return make(Error::kBusy, "");
    case NVML_ERROR_INSUFFICIENT_RESOURCES:
      return make(Error::kInvalid, "the placement is taken or the capacity is gone");
    case NVML_ERROR_GPU_IS_LOST:
      return make(Error::kLost, "reset the GPU or restart the machine");
    case NVML_ERROR_RESET_REQUIRED:
      return make(Error::kLost, "the GPU needs a reset; smartmig does not reset GPUs");
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return make(Error::kNotFound, "load the kernel module nvidia");
    case NVML_ERROR_TIMEOUT:
      return make(Error::kTimeout, "");
    case NVML_ERROR_INVALID_ARGUMENT:
      return make(Error::kInvalid, "");
    default:
      return make(Error::kIo, "");
  }
}

std::string default_nvml_library() {
  const char* path = std::getenv("SMARTMIG_NVML");
  return path && *path ? path : "libnvidia-ml.so.1";
}

}  // namespace smartmig
