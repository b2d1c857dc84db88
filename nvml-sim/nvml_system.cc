// Init, shutdown, versions, error strings, and which boards there are.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/file.h"
#include "base/text.h"
#include "machine_init.h"
#include "nvml_shared.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

constexpr std::string_view kNvml = "13.580.159.04";
constexpr int kCuda = 13000;

template <class Match>
nvmlReturn_t find_board(const char* name, nvmlDevice_t* device, Match&& match) {
  return on_machine(name, [&](Machine& m) {
    if (!device) return NVML_ERROR_INVALID_ARGUMENT;
    int found = -1;
    for (int gpu = 0; gpu < m.gpu_count() && found < 0; ++gpu)
      if (match(m, gpu)) found = gpu;
    if (found < 0) return NVML_ERROR_NOT_FOUND;
    const nvmlReturn_t status = m.before_call(name, found);
    if (status == NVML_SUCCESS) *device = board_handle(found);
    return status;
  });
}

}  // namespace

namespace smartmig::nvsim {

std::string board_uuid(Machine& m, int gpu) {
  std::string out;
  m.read([&](const State& state) { out = "GPU-" + uuid_text(state.gpus[gpu].uuid); });
  return out;
}
std::string board_serial(Machine& m, int gpu) {
  std::uint64_t bits = 0;
  m.read([&](const State& state) { bits = state.gpus[gpu].uuid[1]; });
  return fmt::format("{:013}", bits % 10000000000000ull);
}

nvmlReturn_t find_uuid(Machine& m, std::string_view uuid, nvmlDevice_t& device) {
  for (int gpu = 0; gpu < m.gpu_count(); ++gpu)
    if (board_uuid(m, gpu) == uuid) return device = board_handle(gpu), NVML_SUCCESS;
  nvmlReturn_t status = NVML_ERROR_NOT_FOUND;
  m.read([&](const State& state) {
    for (int gpu = 0; gpu < state.gpu_count; ++gpu)
      for (const ComputeInstance& ci : state.gpus[gpu].compute_instances)
        if (ci.generation != 0 && "MIG-" + uuid_text(ci.uuid) == uuid) {
          device = mig_handle(gpu, ci.generation);
          status = NVML_SUCCESS;
        }
  });
  return status;
}

nvmlReturn_t not_emulated(const char* name) {
  return on_machine(name, [](Machine&) { return NVML_ERROR_NOT_SUPPORTED; });
}

}  // namespace smartmig::nvsim

nvmlReturn_t nvmlInit(void) { return attach(); }
nvmlReturn_t nvmlInit_v2(void) { return attach(); }
nvmlReturn_t nvmlInitWithFlags(unsigned int) { return attach(); }
nvmlReturn_t nvmlShutdown(void) { return detach(); }

const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case NVML_SUCCESS:
      return "Success";
    case NVML_ERROR_UNINITIALIZED:
      return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
      return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_NO_PERMISSION:
      return "Insufficient Permissions";
    case NVML_ERROR_ALREADY_INITIALIZED:
      return "Already Initialized";
    case NVML_ERROR_NOT_FOUND:
      return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
      return "Insufficient Size";
    case NVML_ERROR_INSUFFICIENT_POWER:
      return "Insufficient External Power";
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT:
      return "Timeout";
    case NVML_ERROR_IRQ_ISSUE:
      return "Interrupt Request Issue";
    case NVML_ERROR_LIBRARY_NOT_FOUND:
      return "NVML Shared Library Not Found";
    case NVML_ERROR_FUNCTION_NOT_FOUND:
      return "Function Not Found";
    case NVML_ERROR_CORRUPTED_INFOROM:
      return "Corrupted infoROM";
    case NVML_ERROR_GPU_IS_LOST:
      return "GPU is lost";
    case NVML_ERROR_RESET_REQUIRED:
      return "GPU requires reset";
    case NVML_ERROR_OPERATING_SYSTEM:
      return "GPU access blocked by the operating system";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
      return "Driver/library version mismatch";
    case NVML_ERROR_IN_USE:
      return "In use by another client";
    case NVML_ERROR_MEMORY:
      return "Insufficient Memory";
    case NVML_ERROR_NO_DATA:
      return "No data";
    case NVML_ERROR_VGPU_ECC_NOT_SUPPORTED:
      return "vGPU: ECC is not supported";
    case NVML_ERROR_INSUFFICIENT_RESOURCES:
      return "Insufficient Resources";
    case NVML_ERROR_FREQ_NOT_SUPPORTED:
      return "Frequency Not Supported";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
      return "Argument Version Mismatch";
    case NVML_ERROR_DEPRECATED:
      return "Deprecated";
    case NVML_ERROR_NOT_READY:
      return "Not Ready";
    case NVML_ERROR_GPU_NOT_FOUND:
      return "GPU Not Found";
    case NVML_ERROR_INVALID_STATE:
      return "Invalid State";
    case NVML_ERROR_RESET_TYPE_NOT_SUPPORTED:
      return "Reset Type Not Supported";
    case NVML_ERROR_UNKNOWN:
      break;
  }
  return "Unknown Error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  return on_machine(__func__, [&](Machine&) { return put_text(kDriverVersion, version, length); });
}
nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned int length) { return put_text(kNvml, version, length); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) { return put(version, kCuda); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) { return put(version, kCuda); }

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char* name, unsigned int length) {
  return on_machine(__func__, [&](Machine&) {
    if (!name || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
    const auto line = read_file(fmt::format("/proc/{}/cmdline", pid));
    if (!line) return NVML_ERROR_NOT_FOUND;
    const std::string_view program(line->c_str());  // up to the first argument's end
    if (program.empty()) return NVML_ERROR_NOT_FOUND;
    put_name(program, name, length);
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_v1_t* info, unsigned int length) {
  return on_machine(__func__, [&](Machine&) {
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != nvmlSystemDriverBranchInfo_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return put_text("r580_00", info->branch, std::min<unsigned>(length, sizeof info->branch));
  });
}

nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned int* count) {
  return on_machine(__func__, [&](Machine&) { return put(count, 0u); });
}
nvmlReturn_t nvmlUnitGetCount(unsigned int* count) {
  return on_machine(__func__, [&](Machine&) { return put(count, 0u); });
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
  return on_machine(__func__, [&](Machine& m) { return put(count, unsigned(m.gpu_count())); });
}
nvmlReturn_t nvmlDeviceGetCount(unsigned int* count) { return nvmlDeviceGetCount_v2(count); }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  const nvmlReturn_t status = find_board(__func__, device, [&](Machine&, int gpu) { return unsigned(gpu) == index; });
  return status == NVML_ERROR_NOT_FOUND ? NVML_ERROR_INVALID_ARGUMENT : status;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  return on_machine(__func__, [&](Machine& m) {
    if (!uuid || !device) return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlReturn_t status = find_uuid(m, uuid, *device);
    return status == NVML_SUCCESS ? m.before_call("nvmlDeviceGetHandleByUUID", parse_handle(*device).gpu) : status;
  });
}

nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_v1_t* uuid, nvmlDevice_t* device) {
  return on_machine(__func__, [&](Machine& m) {
    if (!uuid || !device) return NVML_ERROR_INVALID_ARGUMENT;
    if (uuid->version != nvmlUUID_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (uuid->type == NVML_UUID_TYPE_ASCII)
      return find_uuid(m, {uuid->value.str, ::strnlen(uuid->value.str, sizeof uuid->value.str)}, *device);
    if (uuid->type != NVML_UUID_TYPE_BINARY) return NVML_ERROR_INVALID_ARGUMENT;
    std::uint64_t halves[2] = {};
    for (int i = 0; i < 16; ++i) halves[i / 8] = halves[i / 8] << 8 | uuid->value.bytes[i];
    const std::string text = uuid_text(halves);
    const nvmlReturn_t status = find_uuid(m, "GPU-" + text, *device);
    return status == NVML_SUCCESS ? status : find_uuid(m, "MIG-" + text, *device);
  });
}

nvmlReturn_t nvmlDeviceGetHandleBySerial(const char* serial, nvmlDevice_t* device) {
  if (!serial) return machine() ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
  return find_board(__func__, device, [&](Machine& m, int gpu) { return board_serial(m, gpu) == serial; });
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* device) {
  if (!bus_id) return machine() ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
  return find_board(__func__, device, [&](Machine&, int gpu) {
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    const bool full = std::sscanf(bus_id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4;
    if (!full && std::sscanf(bus_id, "%x:%x.%x", &bus, &slot, &function) != 3) return false;
    return bus == pci_bus(gpu) && slot == 0 && function == 0 && (!full || domain == 0);
  });
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* bus_id, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}
