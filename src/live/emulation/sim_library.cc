#include "live/emulation/sim_library.h"

#include <dlfcn.h>

#include "base/errors.h"

namespace smartmig {

Result<std::shared_ptr<SimLibrary>> SimLibrary::open(const std::string& path) {
  std::shared_ptr<SimLibrary> library(new SimLibrary());
  library->path_ = path;
  // Never unmapped, as NvmlApi does not: the handle need not be kept.
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    const char* why = ::dlerror();
    return not_found(
        "cannot load the emulated NVML from {}: {}; build the target nvml_sim, or set SMARTMIG_NVML_SIM to one", path,
        why ? why : "no reason given");
  }
#define SMARTMIG_SIM_LOAD(name)                                                      \
  library->name = reinterpret_cast<decltype(library->name)>(::dlsym(handle, #name)); \
  if (!library->name) return unsupported("{} has no {}: it is not this version's emulated NVML", path, #name);
  SMARTMIG_SIM_FUNCTIONS(SMARTMIG_SIM_LOAD)
#undef SMARTMIG_SIM_LOAD
  return library;
}

SimLibrary::~SimLibrary() {
  if (attached_) nvmlShutdown();
}

Result<Ok> SimLibrary::attach() {
  if (attached_) return Ok{};
  if (const auto code = nvmlInit_v2(); code != NVML_SUCCESS) return io_error("{}", nvmlSimLastError());
  attached_ = true;
  return Ok{};
}

Error SimLibrary::error(nvmlReturn_t code, std::string what) const {
  const Error::Code kind = code == NVML_ERROR_NOT_FOUND          ? Error::kNotFound
                           : code == NVML_ERROR_IN_USE           ? Error::kBusy
                           : code == NVML_ERROR_GPU_IS_LOST      ? Error::kLost
                           : code == NVML_ERROR_NOT_SUPPORTED    ? Error::kUnsupported
                           : code == NVML_ERROR_INVALID_ARGUMENT ? Error::kInvalid
                                                                 : Error::kIo;
  return {kind, fmt::format("{}: {} (NVML {})", what, nvmlErrorString(code), int(code))};
}

}  // namespace smartmig
