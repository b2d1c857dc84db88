// Lists of running processes, for a board (with the instances they run on) or for one MIG device.
#include <vector>

#include "nvml_reading.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

nvmlReturn_t list_processes(Machine& m, const Handle& h, std::vector<nvmlProcessInfo_t>& out) {
  m.refresh();
  nvmlReturn_t status = NVML_SUCCESS;
  m.read([&](const State& state) {
    if (h.kind == Kind::kBoard && state.gpus[h.gpu].mig_current && !m.privileged()) {
      status = NVML_ERROR_NO_PERMISSION;
      return;
    }
    for (const Process& process : state.processes) {
      if (process.owner.pid == 0 || process.gpu != h.gpu) continue;
      if (h.kind == Kind::kMigDevice && process.compute_instance != h.generation) continue;
      const auto* ci = find_compute_instance(state, h.gpu, process.compute_instance);
      const auto* gi = ci ? find_gpu_instance(state, h.gpu, ci->gpu_instance) : nullptr;
      out.push_back({unsigned(process.owner.pid), process.memory, gi ? gi->id : NVML_NO_INSTANCE_ID,
                     ci ? ci->id : NVML_NO_INSTANCE_ID});
    }
  });
  return status;
}

template <class Info>
nvmlReturn_t give(const char* name, nvmlDevice_t device, unsigned* count, Info* infos, bool compute) {
  return on_device(name, device, [&](Machine& m, const Handle& h) {
    if (!count || (*count > 0 && !infos)) return NVML_ERROR_INVALID_ARGUMENT;
    std::vector<nvmlProcessInfo_t> all;
    if (compute)  // nothing emulated draws pictures or uses MPS
      if (const nvmlReturn_t status = list_processes(m, h, all); status != NVML_SUCCESS) return status;
    const unsigned room = *count;
    *count = unsigned(all.size());
    if (room < all.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (std::size_t i = 0; i < all.size(); ++i) {
      infos[i].pid = all[i].pid;
      infos[i].usedGpuMemory = all[i].usedGpuMemory;
      if constexpr (requires { infos[i].gpuInstanceId; }) {
        infos[i].gpuInstanceId = all[i].gpuInstanceId;
        infos[i].computeInstanceId = all[i].computeInstanceId;
      }
    }
    return NVML_SUCCESS;
  });
}

}  // namespace

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                  nvmlProcessInfo_v1_t* infos) {
  return give(__func__, device, count, infos, true);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_v2_t* infos) {
  return give(__func__, device, count, infos, true);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_t* infos) {
  return give(__func__, device, count, infos, true);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                   nvmlProcessInfo_v1_t* infos) {
  return give(__func__, device, count, infos, false);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                      nvmlProcessInfo_v2_t* infos) {
  return give(__func__, device, count, infos, false);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                      nvmlProcessInfo_t* infos) {
  return give(__func__, device, count, infos, false);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_v1_t* infos) {
  return give(__func__, device, count, infos, false);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                        nvmlProcessInfo_v2_t* infos) {
  return give(__func__, device, count, infos, false);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                        nvmlProcessInfo_t* infos) {
  return give(__func__, device, count, infos, false);
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t* samples,
                                             unsigned int* count, unsigned long long last_seen) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    bool mig = false;
    m.read([&](const State& state) { mig = state.gpus[gpu].mig_current; });
    if (mig) return NVML_ERROR_NOT_SUPPORTED;
    std::vector<nvmlProcessInfo_t> all;
    Handle board;
    board.kind = Kind::kBoard;
    board.gpu = gpu;
    if (const nvmlReturn_t status = list_processes(m, board, all); status != NVML_SUCCESS) return status;
    const unsigned long long now = unix_us();
    if (now <= last_seen || all.empty()) return *count = 0, NVML_ERROR_NOT_FOUND;
    const unsigned room = *count;
    *count = unsigned(all.size());
    if (!samples || room < all.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (std::size_t i = 0; i < all.size(); ++i)
      samples[i] = {all[i].pid, now, 100 / unsigned(all.size()), 50 / unsigned(all.size()), 0, 0};
    return NVML_SUCCESS;
  });
}
