// MIG mode, and MIG devices: the face of a compute instance to CUDA.
#include "nvml_shared.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

template <class F>
nvmlReturn_t on_mig_device(const char* name, nvmlDevice_t device, F&& f) {
  return on_device(name, device, [&](Machine& m, const Handle& h) {
    if (h.kind != Kind::kMigDevice) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t status = NVML_ERROR_INVALID_ARGUMENT;
    m.read([&](const State& state) {
      const auto* ci = find_compute_instance(state, h.gpu, h.generation);
      if (ci) status = f(m, h.gpu, *find_gpu_instance(state, h.gpu, ci->gpu_instance), *ci);
    });
    return status;
  });
}

}  // namespace

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int* current, unsigned int* pending) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    if (!current || !pending) return NVML_ERROR_INVALID_ARGUMENT;
    m.read([&](const State& state) {
      *current = state.gpus[gpu].mig_current;
      *pending = state.gpus[gpu].mig_pending;
    });
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned int mode, nvmlReturn_t* activation_status) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    return activation_status ? m.set_mig_mode(gpu, mode, *activation_status) : NVML_ERROR_INVALID_ARGUMENT;
  });
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int* count) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    m.read([&](const State& state) {
      *count = state.gpus[gpu].mig_current ? unsigned(m.board(gpu).model().compute_slices()) : 0;
    });
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t* mig_device) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    if (!mig_device || index >= unsigned(m.board(gpu).model().compute_slices())) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t status = NVML_ERROR_NOT_FOUND;
    m.read([&](const State& state) {
      if (!state.gpus[gpu].mig_current) status = NVML_ERROR_NOT_SUPPORTED;
      for (const ComputeInstance& ci : state.gpus[gpu].compute_instances)
        if (ci.generation != 0 && ci.mig_index == index) {
          *mig_device = mig_handle(gpu, ci.generation);
          status = NVML_SUCCESS;
        }
    });
    return status;
  });
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig_device, nvmlDevice_t* device) {
  return on_mig_device(__func__, mig_device, [&](Machine&, int gpu, const GpuInstance&, const ComputeInstance&) {
    return put(device, board_handle(gpu));
  });
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int* is_mig_device) {
  return on_device(__func__, device,
                   [&](Machine&, const Handle& h) { return put(is_mig_device, h.kind == Kind::kMigDevice ? 1u : 0u); });
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t mig_device, unsigned int* id) {
  return on_mig_device(__func__, mig_device, [&](Machine&, int, const GpuInstance& gi, const ComputeInstance&) {
    return put(id, unsigned(gi.id));
  });
}
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t mig_device, unsigned int* id) {
  return on_mig_device(__func__, mig_device, [&](Machine&, int, const GpuInstance&, const ComputeInstance& ci) {
    return put(id, unsigned(ci.id));
  });
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t mig_device, nvmlDeviceAttributes_t* attributes) {
  return on_mig_device(__func__, mig_device,
                       [&](Machine& m, int gpu, const GpuInstance& gi, const ComputeInstance& ci) {
                         const Board& board = m.board(gpu);
                         const Engines e = board.engines(gi.profile);
                         return put(attributes, {unsigned(ci.sms), e.copy, e.decoder, e.encoder, e.jpeg, e.ofa,
                                                 unsigned(board.profile(gi.profile).compute_slices),
                                                 unsigned(ci.slices), board.memory_mib(gi.profile)});
                       });
}
nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t mig_device, nvmlDeviceAttributes_v1_t* attributes) {
  nvmlDeviceAttributes_t full;
  const nvmlReturn_t status = nvmlDeviceGetAttributes_v2(mig_device, &full);
  if (status != NVML_SUCCESS) return status;
  return put(attributes, {full.multiprocessorCount, full.sharedCopyEngineCount, full.sharedDecoderCount,
                          full.sharedEncoderCount, full.sharedJpegCount, full.sharedOfaCount});
}
