// Compute instances of a GPU instance: profiles, placements, create, destroy, list.
#include <algorithm>

#include "nvml_shared.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

template <class F>
nvmlReturn_t in_gpu_instance(const char* name, nvmlGpuInstance_t instance, bool needs_privilege, F&& f) {
  return on_instance(name, Kind::kGpuInstance, instance, [&](Machine& m, const Handle& h) {
    if (needs_privilege && !m.privileged()) return NVML_ERROR_NO_PERMISSION;
    nvmlReturn_t status = NVML_ERROR_INVALID_ARGUMENT;
    m.read([&](const State& state) {
      if (const GpuInstance* gi = find_gpu_instance(state, h.gpu, h.generation)) status = f(m, h.gpu, *gi, state);
    });
    return status;
  });
}

template <class F>
nvmlReturn_t with_profile(const char* name, nvmlGpuInstance_t instance, unsigned profile_id, F&& f) {
  return in_gpu_instance(name, instance, true, [&](Machine& m, int gpu, const GpuInstance& gi, const State& state) {
    for (const ComputeProfile& profile : m.board(gpu).compute_profiles(gi.profile))
      if (profile.id == profile_id) return f(m, gpu, gi, profile, state);
    return NVML_ERROR_INVALID_ARGUMENT;
  });
}

template <class Info>
void fill(Info& info, const Board& board, int gpu_profile, const ComputeProfile& profile) {
  const Engines e = board.engines(gpu_profile);
  info.id = profile.id;
  info.sliceCount = unsigned(profile.slices);
  info.instanceCount = unsigned(profile.max_instances);
  info.multiprocessorCount = unsigned(profile.sms);
  info.sharedCopyEngineCount = e.copy;
  info.sharedDecoderCount = e.decoder;
  info.sharedEncoderCount = e.encoder;
  info.sharedJpegCount = e.jpeg;
  info.sharedOfaCount = e.ofa;
  if constexpr (requires { info.name; }) put_name("MIG " + profile.name, info.name, sizeof info.name);
  if constexpr (requires { info.capabilities; }) info.capabilities = 0;
}

template <class F>
nvmlReturn_t profile_info(const char* name, nvmlGpuInstance_t instance, unsigned constant, unsigned engine, F&& f) {
  return in_gpu_instance(name, instance, false, [&](Machine& m, int gpu, const GpuInstance& gi, const State&) {
    if (constant >= NVML_COMPUTE_INSTANCE_PROFILE_COUNT || engine >= NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT)
      return NVML_ERROR_INVALID_ARGUMENT;
    for (const ComputeProfile& profile : m.board(gpu).compute_profiles(gi.profile))
      if (profile.id == constant) return f(m.board(gpu), gi.profile, profile);
    return NVML_ERROR_NOT_SUPPORTED;
  });
}

nvmlReturn_t create(const char* name, nvmlGpuInstance_t instance, unsigned profile_id,
                    const nvmlComputeInstancePlacement_t* placement, nvmlComputeInstance_t* compute_instance) {
  return on_instance(name, Kind::kGpuInstance, instance, [&](Machine& m, const Handle& h) {
    if (!compute_instance) return NVML_ERROR_INVALID_ARGUMENT;
    std::uint64_t generation = 0;
    const nvmlReturn_t status = m.create_compute_instance(h.gpu, h.generation, profile_id, placement, generation);
    if (status == NVML_SUCCESS)
      *compute_instance = make_handle<nvmlComputeInstance_t>(Kind::kComputeInstance, h.gpu, generation);
    return status;
  });
}

}  // namespace

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t instance, unsigned int profile,
                                                          unsigned int engine_profile,
                                                          nvmlComputeInstanceProfileInfo_t* info) {
  return profile_info(__func__, instance, profile, engine_profile,
                      [&](const Board& board, int gpu_profile, const ComputeProfile& found) {
                        if (!info) return NVML_ERROR_INVALID_ARGUMENT;
                        return fill(*info, board, gpu_profile, found), NVML_SUCCESS;
                      });
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(nvmlGpuInstance_t instance, unsigned int profile,
                                                           unsigned int engine_profile,
                                                           nvmlComputeInstanceProfileInfo_v2_t* info) {
  return profile_info(__func__, instance, profile, engine_profile,
                      [&](const Board& board, int gpu_profile, const ComputeProfile& found) {
                        if (!info) return NVML_ERROR_INVALID_ARGUMENT;
                        if (info->version == nvmlComputeInstanceProfileInfo_v2)
                          return fill(*info, board, gpu_profile, found), NVML_SUCCESS;
                        if (info->version != nvmlComputeInstanceProfileInfo_v3)
                          return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
                        fill(*reinterpret_cast<nvmlComputeInstanceProfileInfo_v3_t*>(info), board, gpu_profile, found);
                        return NVML_SUCCESS;
                      });
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvmlGpuInstance_t instance, unsigned int profile_id,
                                                                unsigned int* count) {
  return with_profile(
      __func__, instance, profile_id,
      [&](Machine& m, int gpu, const GpuInstance& gi, const ComputeProfile& profile, const State& state) {
        return put(count, unsigned(m.free_compute_starts(state, gpu, gi, profile).size()));
      });
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(nvmlGpuInstance_t instance, unsigned int profile_id,
                                                                 nvmlComputeInstancePlacement_t* placements,
                                                                 unsigned int* count) {
  return with_profile(__func__, instance, profile_id,
                      [&](Machine&, int, const GpuInstance&, const ComputeProfile& profile, const State&) {
                        if (!count) return NVML_ERROR_INVALID_ARGUMENT;
                        const unsigned room = *count;
                        *count = unsigned(profile.starts.size());
                        if (!placements) return NVML_SUCCESS;
                        if (room > 0 && room < profile.starts.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
                        for (const int start : profile.starts)
                          *placements++ = {unsigned(start), unsigned(profile.slices)};
                        return NVML_SUCCESS;
                      });
}

nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t instance, unsigned int profile_id,
                                                  nvmlComputeInstance_t* compute_instance) {
  return create(__func__, instance, profile_id, nullptr, compute_instance);
}
nvmlReturn_t nvmlGpuInstanceCreateComputeInstanceWithPlacement(nvmlGpuInstance_t instance, unsigned int profile_id,
                                                               const nvmlComputeInstancePlacement_t* placement,
                                                               nvmlComputeInstance_t* compute_instance) {
  if (!placement) return machine() ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
  return create(__func__, instance, profile_id, placement, compute_instance);
}

nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t compute_instance) {
  return on_instance(__func__, Kind::kComputeInstance, compute_instance,
                     [](Machine& m, const Handle& h) { return m.destroy_compute_instance(h.gpu, h.generation); });
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t instance, unsigned int profile_id,
                                                nvmlComputeInstance_t* compute_instances, unsigned int* count) {
  return with_profile(__func__, instance, profile_id,
                      [&](Machine&, int gpu, const GpuInstance& gi, const ComputeProfile& profile, const State& state) {
                        if (!compute_instances || !count) return NVML_ERROR_INVALID_ARGUMENT;
                        *count = 0;
                        for (const ComputeInstance& ci : state.gpus[gpu].compute_instances)
                          if (ci.generation != 0 && ci.gpu_instance == gi.generation && ci.profile_id == profile.id)
                            compute_instances[(*count)++] =
                                make_handle<nvmlComputeInstance_t>(Kind::kComputeInstance, gpu, ci.generation);
                        return NVML_SUCCESS;
                      });
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t instance, unsigned int id,
                                                   nvmlComputeInstance_t* compute_instance) {
  return in_gpu_instance(__func__, instance, true, [&](Machine&, int gpu, const GpuInstance& gi, const State& state) {
    if (!compute_instance) return NVML_ERROR_INVALID_ARGUMENT;
    for (const ComputeInstance& ci : state.gpus[gpu].compute_instances)
      if (ci.generation != 0 && ci.gpu_instance == gi.generation && ci.id == id)
        return put(compute_instance, make_handle<nvmlComputeInstance_t>(Kind::kComputeInstance, gpu, ci.generation));
    return NVML_ERROR_NOT_FOUND;
  });
}

nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t compute_instance, nvmlComputeInstanceInfo_t* info) {
  return on_instance(__func__, Kind::kComputeInstance, compute_instance, [&](Machine& m, const Handle& h) {
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t status = NVML_ERROR_INVALID_ARGUMENT;
    m.read([&](const State& state) {
      const ComputeInstance* ci = find_compute_instance(state, h.gpu, h.generation);
      if (!ci) return;
      *info = {mig_handle(h.gpu, h.generation),
               make_handle<nvmlGpuInstance_t>(Kind::kGpuInstance, h.gpu, ci->gpu_instance),
               ci->id,
               ci->profile_id,
               {unsigned(ci->start), unsigned(ci->slices)}};
      status = NVML_SUCCESS;
    });
    return status;
  });
}
nvmlReturn_t nvmlComputeInstanceGetInfo(nvmlComputeInstance_t compute_instance, nvmlComputeInstanceInfo_v1_t* info) {
  nvmlComputeInstanceInfo_t full;
  const nvmlReturn_t status = nvmlComputeInstanceGetInfo_v2(compute_instance, &full);
  return status == NVML_SUCCESS ? put(info, {full.device, full.gpuInstance, full.id, full.profileId}) : status;
}
