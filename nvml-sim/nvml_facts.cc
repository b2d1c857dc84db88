// Fixed facts beyond a board's name and address: firmware, how it is virtualised, powered and addressed, its memory's
// health.
#include "nvml_shared.h"

using namespace smartmig;
using namespace smartmig::nvsim;

nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_v1_t* pci) {
  if (pci && machine() && pci->version != nvmlPciInfoExt_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  nvmlPciInfo_t plain;
  const nvmlReturn_t status = nvmlDeviceGetPciInfo_v3(device, &plain);
  if (status != NVML_SUCCESS) return status;
  if (!pci) return NVML_ERROR_INVALID_ARGUMENT;
  constexpr unsigned kDisplayController = 0x03, k3d = 0x02;
  *pci = {nvmlPciInfoExt_v1,  plain.domain, plain.bus, plain.device, plain.pciDeviceId, plain.pciSubSystemId,
          kDisplayController, k3d,          {}};
  put_name(plain.busId, pci->busId, sizeof pci->busId);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetModuleId(nvmlDevice_t device, unsigned int* module_id) {
  return on_board(__func__, device, [&](Machine&, int gpu) { return put(module_id, unsigned(gpu) + 1); });
}
nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, nvmlGpuVirtualizationMode_t* mode) {
  return on_board(__func__, device, [&](Machine&, int) { return put(mode, NVML_GPU_VIRTUALIZATION_MODE_NONE); });
}
nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_v1_t* mode) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    if (!mode) return NVML_ERROR_INVALID_ARGUMENT;
    if (mode->version != nvmlDeviceAddressingMode_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    const bool with_grace = m.board(gpu).name().starts_with("g");  // gh200, gb200, gb300: one page table with the CPU
    mode->value = with_grace ? NVML_DEVICE_ADDRESSING_MODE_ATS : NVML_DEVICE_ADDRESSING_MODE_NONE;
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceGetPowerSource(nvmlDevice_t device, nvmlPowerSource_t* source) {
  return on_board(__func__, device,
                  [&](Machine&, int) { return put(source, nvmlPowerSource_t(NVML_POWER_SOURCE_AC)); });
}

nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char* version) {
  constexpr unsigned kRoom = 0x40;  // what the ABI promises
  return on_board(__func__, device, [&](Machine&, int) { return put_text(kDriverVersion, version, kRoom); });
}
nvmlReturn_t nvmlDeviceGetGspFirmwareMode(nvmlDevice_t device, unsigned int* enabled, unsigned int* by_default) {
  return on_board(__func__, device, [&](Machine&, int) {
    const nvmlReturn_t first = put(enabled, 1u);
    return first == NVML_SUCCESS ? put(by_default, 1u) : first;
  });
}

nvmlReturn_t nvmlDeviceGetDefaultEccMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return on_board(__func__, device, [&](Machine&, int) { return put(mode, NVML_FEATURE_ENABLED); });
}
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int* corrected, unsigned int* uncorrected,
                                       unsigned int* pending, unsigned int* failed) {
  return on_board(__func__, device, [&](Machine&, int) {
    if (!corrected || !uncorrected || !pending || !failed) return NVML_ERROR_INVALID_ARGUMENT;
    *corrected = *uncorrected = *pending = *failed = 0;
    return NVML_SUCCESS;
  });
}
