// Fixed facts of a board, its PCI address and its settings.
#include "machine_init.h"
#include "nvml_shared.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

// Boards and MIG devices answer alike where NVML documents it so; f(machine, gpu).
template <class F>
nvmlReturn_t of_board(const char* name, nvmlDevice_t device, F&& f) {
  return on_device(name, device, [&](Machine& m, const Handle& h) { return f(m, h.gpu); });
}

template <class F>
nvmlReturn_t set_board(const char* name, nvmlDevice_t device, F&& edit) {
  return on_board(name, device, [&](Machine& m, int gpu) {
    if (!m.privileged()) return NVML_ERROR_NO_PERMISSION;
    m.change([&](State& state) {
      edit(state.gpus[gpu]);
      return true;
    });
    return NVML_SUCCESS;
  });
}

}  // namespace

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned int length) {
  return on_device(__func__, device, [&](Machine& m, const Handle& h) {
    std::string text = m.board(h.gpu).product();
    m.read([&](const State& state) {
      if (const auto* ci = find_compute_instance(state, h.gpu, h.generation)) {
        const GpuInstance* gi = find_gpu_instance(state, h.gpu, ci->gpu_instance);
        for (const ComputeProfile& profile : m.board(h.gpu).compute_profiles(gi->profile))
          if (profile.id == ci->profile_id) text += " MIG " + profile.name;
      }
    });
    return put_text(text, name, length);
  });
}

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t* type) {
  return of_board(__func__, device, [&](Machine& m, int gpu) {
    return put(type, m.board(gpu).compute_capability().first == 12 ? NVML_BRAND_NVIDIA_RTX : NVML_BRAND_NVIDIA);
  });
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int* index) {
  return on_device(__func__, device, [&](Machine& m, const Handle& h) {
    unsigned value = unsigned(h.gpu);
    m.read([&](const State& state) {
      if (const auto* ci = find_compute_instance(state, h.gpu, h.generation)) value = ci->mig_index;
    });
    return put(index, value);
  });
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char* serial, unsigned int length) {
  return on_board(__func__, device,
                  [&](Machine& m, int gpu) { return put_text(board_serial(m, gpu), serial, length); });
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length) {
  return on_device(__func__, device, [&](Machine& m, const Handle& h) {
    std::string text = board_uuid(m, h.gpu);
    m.read([&](const State& state) {
      if (const auto* ci = find_compute_instance(state, h.gpu, h.generation)) text = "MIG-" + uuid_text(ci->uuid);
    });
    return put_text(text, uuid, length);
  });
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int* minor_number) {
  return on_board(__func__, device, [&](Machine&, int gpu) { return put(minor_number, unsigned(gpu)); });
}
nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned int* board_id) {
  return on_board(__func__, device, [&](Machine&, int gpu) { return put(board_id, pci_bus(gpu) << 8); });
}
nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t device, char* part_number, unsigned int length) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    return put_text("emulated-" + m.board(gpu).name(), part_number, length);
  });
}
nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char* version, unsigned int length) {
  return on_board(__func__, device, [&](Machine&, int) { return put_text("00.00.00.00.00", version, length); });
}
nvmlReturn_t nvmlDeviceGetInforomImageVersion(nvmlDevice_t device, char* version, unsigned int length) {
  return on_board(__func__, device, [&](Machine&, int) { return put_text("0000.0000.00.00", version, length); });
}
nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t device) {
  return on_board(__func__, device, [](Machine&, int) { return NVML_SUCCESS; });
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return of_board(__func__, device, [&](Machine& m, int gpu) {
    if (!pci) return NVML_ERROR_INVALID_ARGUMENT;
    *pci = {};
    pci->bus = pci_bus(gpu);
    pci->pciDeviceId = m.board(gpu).pci_id();
    pci->pciSubSystemId = m.board(gpu).pci_subsystem_id();
    put_name(fmt::format("{:04X}:{:02X}:00.0", 0, pci->bus), pci->busIdLegacy, sizeof pci->busIdLegacy);
    put_name(fmt::format("{:08X}:{:02X}:00.0", 0, pci->bus), pci->busId, sizeof pci->busId);
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_v2_t* pci) {
  nvmlPciInfo_t full;
  const nvmlReturn_t status = nvmlDeviceGetPciInfo_v3(device, &full);
  if (status != NVML_SUCCESS) return status;
  if (!pci) return NVML_ERROR_INVALID_ARGUMENT;
  *pci = {{}, full.domain, full.bus, full.device, full.pciDeviceId, full.pciSubSystemId, 0, 0, 0, 0};
  put_name(full.busIdLegacy, pci->busId, sizeof pci->busId);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_v1_t* pci) {
  nvmlPciInfo_t full;
  const nvmlReturn_t status = nvmlDeviceGetPciInfo_v3(device, &full);
  if (status != NVML_SUCCESS) return status;
  if (!pci) return NVML_ERROR_INVALID_ARGUMENT;
  *pci = {{}, full.domain, full.bus, full.device, full.pciDeviceId};
  put_name(full.busIdLegacy, pci->busId, sizeof pci->busId);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t* arch) {
  return of_board(__func__, device, [&](Machine& m, int gpu) { return put(arch, m.board(gpu).architecture()); });
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  return of_board(__func__, device, [&](Machine& m, int gpu) {
    if (!major || !minor) return NVML_ERROR_INVALID_ARGUMENT;
    std::tie(*major, *minor) = m.board(gpu).compute_capability();
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned int* cores) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    bool mig = false;
    m.read([&](const State& state) { mig = state.gpus[gpu].mig_current; });
    if (mig) return NVML_ERROR_NOT_SUPPORTED;
    return put(cores, m.board(gpu).sms() * (m.board(gpu).ampere() ? 64u : 128u));
  });
}
nvmlReturn_t nvmlDeviceGetBusType(nvmlDevice_t device, nvmlBusType_t* type) {
  return of_board(__func__, device, [&](Machine&, int) { return put(type, nvmlBusType_t(NVML_BUS_TYPE_PCIE)); });
}

static nvmlReturn_t pcie_generation(const char* name, nvmlDevice_t device, unsigned* generation) {
  return on_board(name, device, [&](Machine& m, int gpu) { return put(generation, m.board(gpu).ampere() ? 4u : 5u); });
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int* generation) {
  return pcie_generation(__func__, device, generation);
}
nvmlReturn_t nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int* generation) {
  return pcie_generation(__func__, device, generation);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned int* generation) {
  return pcie_generation(__func__, device, generation);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int* width) {
  return on_board(__func__, device, [&](Machine&, int) { return put(width, 16u); });
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned int* width) {
  return on_board(__func__, device, [&](Machine&, int) { return put(width, 16u); });
}
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter, unsigned int* value) {
  return on_board(__func__, device, [&](Machine&, int) {
    return unsigned(counter) > NVML_PCIE_UTIL_RX_BYTES ? NVML_ERROR_INVALID_ARGUMENT : put(value, 0u);
  });
}
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned int* value) {
  return on_board(__func__, device, [&](Machine&, int) { return put(value, 0u); });
}

nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, nvmlEnableState_t* display) {
  return on_board(__func__, device, [&](Machine&, int) { return put(display, NVML_FEATURE_DISABLED); });
}
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, nvmlEnableState_t* active) {
  return on_board(__func__, device, [&](Machine&, int) { return put(active, NVML_FEATURE_DISABLED); });
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    if (!mode) return NVML_ERROR_INVALID_ARGUMENT;
    m.read([&](const State& state) { *mode = nvmlEnableState_t(state.gpus[gpu].persistence); });
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t mode) {
  return set_board(__func__, device, [&](Gpu& gpu) { gpu.persistence = mode == NVML_FEATURE_ENABLED; });
}
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    if (!mode) return NVML_ERROR_INVALID_ARGUMENT;
    m.read([&](const State& state) { *mode = nvmlComputeMode_t(state.gpus[gpu].compute_mode); });
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceSetComputeMode(nvmlDevice_t device, nvmlComputeMode_t mode) {
  if (unsigned(mode) > NVML_COMPUTEMODE_EXCLUSIVE_PROCESS) return NVML_ERROR_INVALID_ARGUMENT;
  return set_board(__func__, device, [&](Gpu& gpu) { gpu.compute_mode = unsigned(mode); });
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current, nvmlEnableState_t* pending) {
  return on_board(__func__, device, [&](Machine&, int) {
    const nvmlReturn_t first = put(current, NVML_FEATURE_ENABLED);
    return first == NVML_SUCCESS ? put(pending, NVML_FEATURE_ENABLED) : first;
  });
}
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t error, nvmlEccCounterType_t counter,
                                         unsigned long long* count) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    if (unsigned(error) > 1 || unsigned(counter) > 1) return NVML_ERROR_INVALID_ARGUMENT;
    unsigned long long errors = 0;
    if (error == NVML_MEMORY_ERROR_TYPE_UNCORRECTED)
      m.read([&](const State& state) { errors = state.gpus[gpu].ecc_errors; });
    return put(count, errors);
  });
}
// The emulated boards have no NVLink.
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int, nvmlEnableState_t*) {
  return on_board(__func__, device, [](Machine&, int) { return NVML_ERROR_NOT_SUPPORTED; });
}
nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int, unsigned int*) {
  return on_board(__func__, device, [](Machine&, int) { return NVML_ERROR_NOT_SUPPORTED; });
}
