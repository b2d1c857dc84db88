// GPU instances: profiles, placements, create, destroy, list.
#include <algorithm>

#include "nvml_shared.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

// v1 to v3 differ in their fields; this fills what each has.
template <class Info>
void fill(Info& info, const Board& board, int index) {
  const Profile& profile = board.profile(index);
  const Engines e = board.engines(index);
  info.id = board.id_of(index);
  info.sliceCount = unsigned(profile.compute_slices);
  info.instanceCount = unsigned(profile.max_instances);
  info.multiprocessorCount = board.sms(index);
  info.copyEngineCount = e.copy;
  info.decoderCount = e.decoder;
  info.encoderCount = e.encoder;
  info.jpegCount = e.jpeg;
  info.ofaCount = e.ofa;
  info.memorySizeMB = board.memory_mib(index);
  if constexpr (requires { info.isP2pSupported; }) info.isP2pSupported = 0;
  if constexpr (requires { info.capabilities; }) info.capabilities = 0;
  if constexpr (requires { info.name; }) put_name("MIG " + profile.name, info.name, sizeof info.name);
}

nvmlReturn_t fill_versioned(nvmlGpuInstanceProfileInfo_v2_t* info, const Board& board, int profile) {
  if (info->version == nvmlGpuInstanceProfileInfo_v2) return fill(*info, board, profile), NVML_SUCCESS;
  if (info->version == nvmlGpuInstanceProfileInfo_v3)
    return fill(*reinterpret_cast<nvmlGpuInstanceProfileInfo_v3_t*>(info), board, profile), NVML_SUCCESS;
  return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
}

int profile_of(const Board& board, unsigned constant, nvmlReturn_t& status) {
  const int profile = board.profile_by_constant(constant);
  status = constant >= NVML_GPU_INSTANCE_PROFILE_COUNT ? NVML_ERROR_INVALID_ARGUMENT
           : profile < 0                               ? NVML_ERROR_NOT_SUPPORTED
                                                       : NVML_SUCCESS;
  return profile;
}

nvmlReturn_t create(const char* name, nvmlDevice_t device, unsigned profile_id,
                    const nvmlGpuInstancePlacement_t* placement, nvmlGpuInstance_t* instance) {
  return on_board(name, device, [&](Machine& m, int gpu) {
    if (!instance) return NVML_ERROR_INVALID_ARGUMENT;
    std::uint64_t generation = 0;
    const nvmlReturn_t status = m.create_gpu_instance(gpu, profile_id, placement, generation);
    if (status == NVML_SUCCESS) *instance = make_handle<nvmlGpuInstance_t>(Kind::kGpuInstance, gpu, generation);
    return status;
  });
}

// Calls that need MIG to be on, a known profile id and, where so configured, privilege.
template <class F>
nvmlReturn_t with_profile(const char* name, nvmlDevice_t device, unsigned profile_id, F&& f) {
  return on_board(name, device, [&](Machine& m, int gpu) {
    if (!m.privileged()) return NVML_ERROR_NO_PERMISSION;
    const int profile = m.board(gpu).profile_by_id(profile_id);
    if (profile < 0) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t status = NVML_ERROR_NOT_SUPPORTED;
    m.read([&](const State& state) {
      if (state.gpus[gpu].mig_current) status = f(m, gpu, profile, state);
    });
    return status;
  });
}

}  // namespace

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int profile,
                                                 nvmlGpuInstanceProfileInfo_t* info) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    nvmlReturn_t status = NVML_SUCCESS;
    const int index = profile_of(m.board(gpu), profile, status);
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    if (status == NVML_SUCCESS) fill(*info, m.board(gpu), index);
    return status;
  });
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned int profile,
                                                  nvmlGpuInstanceProfileInfo_v2_t* info) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    nvmlReturn_t status = NVML_SUCCESS;
    const int index = profile_of(m.board(gpu), profile, status);
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    return status == NVML_SUCCESS ? fill_versioned(info, m.board(gpu), index) : status;
  });
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoByIdV(nvmlDevice_t device, unsigned int profile_id,
                                                      nvmlGpuInstanceProfileInfo_v2_t* info) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    const int index = m.board(gpu).profile_by_id(profile_id);
    if (!info || index < 0) return NVML_ERROR_INVALID_ARGUMENT;
    return fill_versioned(info, m.board(gpu), index);
  });
}

nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device, unsigned int profile_id,
                                                           nvmlGpuInstancePlacement_t* placements,
                                                           unsigned int* count) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    if (!m.privileged()) return NVML_ERROR_NO_PERMISSION;
    const int index = m.board(gpu).profile_by_id(profile_id);
    if (index < 0) return NVML_ERROR_INVALID_ARGUMENT;
    const Profile& profile = m.board(gpu).profile(index);
    const auto total = unsigned(profile.starts.size());
    const unsigned room = *count;
    *count = total;
    if (!placements) return NVML_SUCCESS;
    if (room > 0 && room < total) return NVML_ERROR_INSUFFICIENT_SIZE;  // 0: older clients size by the instance count
    for (const int start : profile.starts) *placements++ = {unsigned(start), unsigned(profile.memory_slices)};
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements(nvmlDevice_t device, unsigned int profile_id,
                                                        nvmlGpuInstancePlacement_t* placements, unsigned int* count) {
  return nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, profile_id, placements, count);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device, unsigned int profile_id,
                                                       unsigned int* count) {
  return with_profile(__func__, device, profile_id, [&](Machine& m, int gpu, int profile, const State& state) {
    return put(count, m.remaining(state, gpu, profile));
  });
}

nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstance_t* instance) {
  return create(__func__, device, profile_id, nullptr, instance);
}
nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device, unsigned int profile_id,
                                                      const nvmlGpuInstancePlacement_t* placement,
                                                      nvmlGpuInstance_t* instance) {
  if (!placement) return machine() ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
  return create(__func__, device, profile_id, placement, instance);
}

nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t instance) {
  return on_instance(__func__, Kind::kGpuInstance, instance,
                     [](Machine& m, const Handle& h) { return m.destroy_gpu_instance(h.gpu, h.generation); });
}

nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstance_t* instances,
                                       unsigned int* count) {
  return with_profile(__func__, device, profile_id, [&](Machine&, int gpu, int profile, const State& state) {
    if (!instances || !count) return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    for (const GpuInstance& gi : state.gpus[gpu].gpu_instances)
      if (gi.generation != 0 && gi.profile == profile)
        instances[(*count)++] = make_handle<nvmlGpuInstance_t>(Kind::kGpuInstance, gpu, gi.generation);
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int id, nvmlGpuInstance_t* instance) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    if (!instance) return NVML_ERROR_INVALID_ARGUMENT;
    if (!m.privileged()) return NVML_ERROR_NO_PERMISSION;
    nvmlReturn_t status = NVML_ERROR_NOT_FOUND;
    m.read([&](const State& state) {
      if (!state.gpus[gpu].mig_current) status = NVML_ERROR_NOT_SUPPORTED;
      for (const GpuInstance& gi : state.gpus[gpu].gpu_instances)
        if (gi.generation != 0 && gi.id == id) {
          *instance = make_handle<nvmlGpuInstance_t>(Kind::kGpuInstance, gpu, gi.generation);
          status = NVML_SUCCESS;
        }
    });
    return status;
  });
}

nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t* info) {
  return on_instance(__func__, Kind::kGpuInstance, instance, [&](Machine& m, const Handle& h) {
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    const auto look = [&](const State& state) {
      const GpuInstance* gi = find_gpu_instance(state, h.gpu, h.generation);
      if (!gi) return NVML_ERROR_INVALID_ARGUMENT;
      *info = {board_handle(h.gpu),
               gi->id,
               m.board(h.gpu).id_of(gi->profile),
               {unsigned(gi->start), unsigned(m.board(h.gpu).profile(gi->profile).memory_slices)}};
      return NVML_SUCCESS;
    };
    nvmlReturn_t status = NVML_SUCCESS;
    bool wrong = false;
    m.read([&](const State& state) {
      status = look(state);
      wrong = find_fault(const_cast<State&>(state), NVML_SIM_FAULT_WRONG_READBACK, h.gpu) != nullptr;
    });
    if (status != NVML_SUCCESS || !wrong) return status;
    m.change([&](State& state) {
      if (Fault* fault = find_fault(state, NVML_SIM_FAULT_WRONG_READBACK, h.gpu)) spend(*fault);
      return true;
    });
    // Another legal start; where there is none, a size that no profile has.
    const auto& starts = m.board(h.gpu).profile(m.board(h.gpu).profile_by_id(info->profileId)).starts;
    const auto other =
        std::find_if(starts.begin(), starts.end(), [&](int start) { return unsigned(start) != info->placement.start; });
    if (other != starts.end())
      info->placement.start = unsigned(*other);
    else
      info->placement.size += 1;
    return NVML_SUCCESS;
  });
}
